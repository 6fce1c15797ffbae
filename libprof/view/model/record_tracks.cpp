// Tracks of records: streams, NVTX ranges, CUDA API calls, synchronizations, overhead.
#include <algorithm>

#include "libprof/view/model/reading.hpp"
#include "schema/enums.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

std::string_view kind_in(const timeline::RecordTable& table) {
  return reading::kind_of(table.name);
}

// Integers of a column.
class Wholes {
 public:
  explicit Wholes(const columns::Column& column) : column_(column) {
    if (column.type() == columns::Type::int64) wide_ = column.int64s().data();
    if (!column.int32s().empty()) narrow_ = column.int32s().data();
  }
  std::int64_t operator[](std::size_t row) const {
    return wide_ ? wide_[row] : narrow_ ? narrow_[row] : whole(column_, row);
  }

 private:
  const columns::Column& column_;
  const std::int64_t* wide_ = nullptr;
  const std::int32_t* narrow_ = nullptr;
};

void read_rows(Reading& reading, const timeline::RecordTable& table, std::int64_t open_until,
               LateNames& names, Collected& records) {
  const std::uint8_t number = reading.table(table);
  const std::size_t keys = table.key.size();
  // `value` returns that of a column.
  const auto add = [&](std::int64_t begin, std::int64_t end, const auto& value) {
    if (!timeline::has_times(table.kind, begin, end)) {
      reading.model.without_times += table.kind == TrackKind::stream;
      return;
    }
    timeline::TrackKey key{};
    for (std::size_t k = 0; k < keys; ++k) key[k] = value(3 + k);
    if (RecordColumns* track = records.find(key)) {
      const std::int64_t name = table.named_by.empty() ? 0 : value(3 + keys);
      track->add({begin, end, value(2), names.place(name), number});
    }
  };
  if (!table.from.empty()) {
    auto rows = reading.database.prepare(timeline::select(table, open_until));
    for (std::size_t count = 0; rows.step(); ++count) {
      if (count % 65536 == 0) reading.check("reading " + table.name);
      const auto value = [&](std::size_t column) { return rows.integer(static_cast<int>(column)); };
      add(value(0), value(1), value);
    }
    return;
  }
  const std::vector<std::string> wanted = timeline::columns_of(table);
  columns::Reader rows(reading.snapshot, {.table = table.name, .columns = wanted});
  rows.read([&](const columns::Chunk& chunk) {
    reading.check("reading " + table.name);
    std::vector<Wholes> values;
    for (std::size_t column = 0; column < wanted.size(); ++column) {
      values.emplace_back(chunk[column]);
    }
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      const std::int64_t start = values[0][i];
      const bool open = table.may_be_open && chunk[1].is_null(i);
      add(start, open ? std::max(start, open_until) : values[1][i],
          [&](std::size_t column) { return values[column][i]; });
    }
  });
}

std::int64_t last_end(const Model& model) {
  std::int64_t last = 1;
  for (const Track& track : model.tracks) {
    for (const auto& row : track.rows) last = std::max(last, row->end(row->size() - 1));
  }
  return last;
}

std::vector<std::string> path_of(Reading& reading, TrackKind kind, const timeline::TrackKey& key,
                                 bool other_context) {
  reading::Names& names = reading.names;
  switch (kind) {
    case TrackKind::stream: {
      std::string name = "stream " + names.stream(key[0], key[2], key[3]);
      if (other_context) name = "context " + names.context(key[0], key[2]) + " " + name;
      return {names.device(key[0]), reading.process(key[1]), std::move(name)};
    }
    case TrackKind::range_on_gpu:
      return {names.device(key[0]), reading.process(key[1]),
              "NVTX on GPU, " + reading.thread(key[2])};
    case TrackKind::api: return {reading.process(key[0]), "CUDA API, " + reading.thread(key[1])};
    case TrackKind::synchronization: return {reading.process(key[0]), "synchronizations"};
    case TrackKind::overhead: {
      const std::string of = key[1] != 0 ? ", " + reading.thread(key[1]) : "";
      return {reading.process(key[0]), "overhead" + of};
    }
    case TrackKind::range: {
      std::string name = "NVTX, " + reading.thread(key[1]);
      if (key[2] != 0) name += ", " + names.text(key[2]);
      return {reading.process(key[0]), std::move(name)};
    }
    case TrackKind::counter: break;
  }
  return {""};
}

}  // namespace

std::uint32_t name_of_record(Reading& reading, const timeline::RecordTable& table,
                             std::int64_t id) {
  switch (table.kind) {
    case TrackKind::stream: {
      const schema::GpuKind* kind = schema::gpu_kind(kind_in(table));
      return reading.name(reading.names.gpu_work(*kind, id),
                          kind->is_kernel() ? reading.labels.find(id) : Labels::Label());
    }
    case TrackKind::api:
      for (const schema::ApiKind& calls : schema::api_kinds) {
        if (calls.kind != kind_in(table)) continue;
        return reading.name(reading.names.api(reading::domain_of(calls), id));
      }
      break;
    case TrackKind::synchronization: {
      std::string name(schema::enum_name("CUpti_ActivitySynchronizationType", id));
      return reading.name(name.empty() ? "synchronize" : name);
    }
    case TrackKind::overhead: {
      std::string name(schema::enum_name("CUpti_ActivityOverheadKind", id));
      return reading.name(name.empty() ? "overhead" : name);
    }
    case TrackKind::range:
    case TrackKind::range_on_gpu:
      return reading.name(id ? reading.names.text(id) : std::string("<unnamed>"));
    case TrackKind::counter: break;
  }
  return reading.name("");
}

void describe_tracks(Reading& reading, TrackKind kind, std::span<const timeline::TrackKey> keys,
                     std::span<Track> made) {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const timeline::TrackKey& key = keys[i];
    const bool other_context =
        kind == TrackKind::stream && std::ranges::any_of(keys, [&](const timeline::TrackKey& each) {
          return each[0] == key[0] && each[1] == key[1] && each[2] != key[2];
        });
    made[i].kind = kind;
    if (kind == TrackKind::stream || kind == TrackKind::range_on_gpu) made[i].device = key[0];
    made[i].path = path_of(reading, kind, key, other_context);
  }
}

void tell_of_tracks_left_out(Model& model, TrackKind kind, std::int64_t records) {
  if (records == 0) return;
  model.losses.push_back(std::to_string(records) + " " + std::string(noun_of(kind)) +
                         " are of too many tracks to be drawn");
}

void take_tracks(AllMadeTracks& made, Model& model) {
  for (const auto& each : made) {
    if (each->rows.valid()) each->rows.get();
    std::ranges::move(each->tracks, std::back_inserter(model.tracks));
  }
  made.clear();
}

void read_record_tracks(Reading& reading, TrackKind kind,
                        std::span<const timeline::RecordTable> tables, AllMadeTracks& made) {
  auto own = std::make_unique<MadeTracks>(reading.slabs);
  for (const timeline::RecordTable& table : tables) {
    if (table.kind != kind) continue;
    if (table.may_be_open) take_tracks(made, reading.model);
    LateNames names;
    own->records.begin_table(names.names());
    read_rows(reading, table, table.may_be_open ? last_end(reading.model) : 0, names, own->records);
    names.resolve([&](std::int64_t id) { return name_of_record(reading, table, id); });
  }
  std::vector<timeline::TrackKey> keys;
  std::vector<RowsJob> jobs;
  own->tracks.resize(own->records.tracks().size());
  for (auto& [key, of_track] : own->records.tracks()) {
    keys.push_back(key);
    jobs.push_back({&of_track, &own->tracks[jobs.size()]});
  }
  describe_tracks(reading, kind, keys, own->tracks);
  tell_of_tracks_left_out(reading.model, kind, own->records.left_out);
  own->rows =
      std::async(std::launch::async, [jobs = std::move(jobs)]() mutable { make_all_rows(jobs); });
  made.push_back(std::move(own));
}

}  // namespace gpuprof::view
