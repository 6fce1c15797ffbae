#include "libprof/view/model/links.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "schema/enums.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_work = 100;
constexpr int most_waits = 20;
// Limits on the rows and records read for one answer.
constexpr std::int64_t most_looks = 1'000'000;
constexpr std::int64_t looks_of_row = 50;
// How many calls before an event's recording are searched for a stream's work.
constexpr std::int64_t most_calls = 100'000;

class LinkFinder {
 public:
  LinkFinder(Subject& subject, const Model& model, const Place& place, const Item& item)
      : subject_(subject), model_(model), place_(place), item_(item) {}

  Links find() {
    if (subject_.correlation == 0) return {};
    Links links;
    if (subject_.is_call()) {
      links.work = work();
      return links;
    }
    const auto call = subject_.is_work() ? find_call(subject_) : std::nullopt;
    if (!call) return {};
    links.launch = find(TrackKind::api, call->table, call->id, call->begin);
    const auto before = before_in_stream();
    // Nobody waited for what was over when the call began.
    const auto add = [&](const std::optional<Linked>& record, Waits why) {
      if (record && record->item.end > call->begin) links.waited.push_back({*record, why});
    };
    add(before, Waits::stream);
    for (const Linked& record : before_events(before)) add(record, Waits::event);
    if (links.waited.empty() && links.launch) {
      links.waited.push_back({*links.launch, Waits::launch});
    }
    return links;
  }

 private:
  std::optional<Linked> find(TrackKind kind, std::string_view table, std::int64_t id,
                             std::int64_t begin) {
    const auto known = std::ranges::find(model_.tables, table);
    if (known == model_.tables.end() || begin == INT64_MAX) return {};
    const auto number = static_cast<std::uint8_t>(known - model_.tables.begin());
    for (std::size_t t = 0; t < model_.tracks.size(); ++t) {
      if (model_.tracks[t].kind != kind) continue;
      const auto& rows = model_.tracks[t].rows;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        looks_left_ -= looks_of_row;
        if (looks_left_ < 0) return {};
        const TrackRow::Places places = rows[r]->within(begin, begin + 1);
        for (std::size_t i = places.first; i < places.end; ++i) {
          if (--looks_left_ < 0) return {};
          const Item item = (*rows[r])[i];
          if (item.begin == begin && item.id == id && item.table == number) {
            return Linked{place_of(t, r, i), item};
          }
        }
      }
    }
    return {};
  }

  static Place place_of(std::size_t track, std::size_t row, std::size_t item) {
    return {static_cast<std::uint32_t>(track), static_cast<std::uint32_t>(row),
            static_cast<std::uint32_t>(item)};
  }

  // The last record that is over when this one begins. A track is a stream.
  std::optional<Linked> before_in_stream() {
    std::optional<Linked> best;
    const auto& rows = model_.tracks[place_.track].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::size_t next = rows[r]->within(item_.begin, item_.begin + 1).first;
      if (next == 0) continue;
      const Item item = (*rows[r])[next - 1];
      if (best && item.end <= best->item.end) continue;
      best = Linked{place_of(place_.track, r, next - 1), item};
    }
    return best;
  }

  std::vector<Linked> work() {
    std::vector<Linked> found;
    for (const schema::GpuKind& kind : schema::gpu_kinds) {
      const std::string table = reading::table_name(kind.kind);
      if (!subject_.tables.has(table, "correlationId") || !subject_.tables.has(table, "start")) {
        continue;
      }
      auto rows = subject_.database.prepare("SELECT _id_, start FROM main." + table +
                                            " WHERE correlationId = ?1 ORDER BY start LIMIT " +
                                            std::to_string(most_work));
      rows.bind(1, subject_.correlation);
      while (rows.step()) {
        const auto record = find(TrackKind::stream, table, rows.integer(0), rows.integer(1));
        if (record) found.push_back(*record);
      }
    }
    std::ranges::stable_sort(found, {}, [](const Linked& each) { return each.item.begin; });
    if (found.size() > most_work) found.resize(most_work);
    return found;
  }

  // --- cuStreamWaitEvent

  // Work of other streams reached through events: those that the record's stream was told to wait
  // for between the call of its predecessor and its own.
  std::vector<Linked> before_events(const std::optional<Linked>& before) {
    std::vector<Linked> found;
    if (!has_events()) return found;
    constexpr std::int64_t stream_waits_for_event = schema::synchronization("stream wait event");
    auto waits = subject_.database.prepare(
        "SELECT correlationId, cudaEventId FROM main." + waits_ +
        " WHERE type = ?1 AND contextId = ?2 AND streamId = ?3 AND processId = ?4 "
        "AND correlationId > ?5 AND correlationId < ?6 ORDER BY correlationId DESC LIMIT " +
        std::to_string(most_waits));
    waits.bind(1, stream_waits_for_event).bind(2, subject_.context).bind(3, subject_.stream);
    waits.bind(4, subject_.process).bind(5, before ? correlation_of(before->item) : 0);
    waits.bind(6, subject_.correlation);
    while (waits.step()) {
      // A wait refers to the last recording of the event before it.
      auto event = subject_.database.prepare(
          "SELECT contextId, streamId, correlationId FROM main." + events_ +
          " WHERE eventId = ?1 AND contextId = ?2 AND processId = ?3 AND correlationId < ?4 "
          "ORDER BY correlationId DESC LIMIT 1");
      event.bind(1, waits.integer(1)).bind(2, subject_.context).bind(3, subject_.process);
      if (!event.bind(4, waits.integer(0)).step()) continue;
      const bool own = event.integer(1) == subject_.stream;
      if (own) continue;
      if (const auto record =
              last_of_stream(event.integer(0), event.integer(1), event.integer(2))) {
        found.push_back(*record);
      }
    }
    return found;
  }

  bool has_events() {
    const auto has = [&](const std::string& table, std::initializer_list<const char*> columns) {
      return std::ranges::all_of(
          columns, [&](const char* column) { return subject_.tables.has(table, column); });
    };
    return has(waits_,
               {"type", "contextId", "streamId", "processId", "correlationId", "cudaEventId"}) &&
           has(events_, {"eventId", "contextId", "streamId", "processId", "correlationId"});
  }

  std::int64_t correlation_of(const Item& item) {
    const std::string& table = model_.tables[item.table];
    if (!subject_.tables.has(table, "correlationId")) return 0;
    auto row =
        subject_.database.prepare("SELECT correlationId FROM main." + table + " WHERE _id_ = ?1");
    return row.bind(1, item.id).step() ? row.integer(0) : 0;
  }

  // The last work launched into the stream before this call.
  std::optional<Linked> last_of_stream(std::int64_t context, std::int64_t stream,
                                       std::int64_t call) {
    std::string last_table;
    std::int64_t last = 0, id = 0, begin = 0;
    for (const schema::GpuKind& kind : schema::gpu_kinds) {
      const std::string table = reading::table_name(kind.kind);
      if (!subject_.tables.has(table, "streamId") || !subject_.tables.has(table, "processId") ||
          !subject_.tables.has(table, "correlationId")) {
        continue;
      }
      auto row = subject_.database.prepare(
          "SELECT correlationId, _id_, start FROM main." + table +
          " WHERE correlationId < ?1 AND correlationId > ?2 AND contextId = ?3 AND streamId = ?4 "
          "AND processId = ?5 ORDER BY correlationId DESC, start DESC LIMIT 1");
      row.bind(1, call)
          .bind(2, std::max(last, saturating_subtract(call, most_calls)))
          .bind(3, context);
      if (!row.bind(4, stream).bind(5, subject_.process).step()) continue;
      last_table = table;
      last = row.integer(0);
      id = row.integer(1);
      begin = row.integer(2);
    }
    if (last_table.empty()) return {};
    return find(TrackKind::stream, last_table, id, begin);
  }

  Subject& subject_;
  const Model& model_;
  const Place place_;
  const Item item_;
  const std::string waits_ = reading::table_name("SYNCHRONIZATION");
  const std::string events_ = reading::table_name("CUDA_EVENT");
  std::int64_t looks_left_ = most_looks;
};

}  // namespace

std::string_view name_of(Waits why) {
  switch (why) {
    case Waits::launch: return "launch";
    case Waits::stream: return "stream";
    case Waits::event: return "event";
  }
  return "";
}

Links find_links(Subject& subject, const Model& model, const Place& place, const Item& item) {
  return LinkFinder(subject, model, place, item).find();
}

}  // namespace gpuprof::view
