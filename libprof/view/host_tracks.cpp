// What threads did: NVTX ranges, calls of the CUDA API, synchronisations.
#include <algorithm>
#include <tuple>

#include "libprof/view/reading.hpp"
#include "schema/enums.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

// Process, thread, and of ranges the domain.
using Thread = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

// A table of the host's records, by its columns.
struct HostTable {
  std::string name, end;
  std::string named_by;
  std::string thread = {}, domain = {};  // empty: 0
  std::int64_t still_open = 0;           // when rows without end end; 0: they are not drawn
};

template <class MakeName>
void read_table(Reading& reading, const HostTable& table, Collected<Thread>& threads,
                const MakeName& make_name) {
  if (!reading.tables.has(table.name)) return;
  const std::uint8_t in_table = reading.table(table.name);
  std::vector<std::string> columns = {"start", table.end, "processId", "_id_", table.named_by};
  if (!table.thread.empty()) columns.push_back(table.thread);
  if (!table.domain.empty()) columns.push_back(table.domain);
  columns::Reader rows(reading.snapshot, {.table = table.name, .columns = columns});
  LateNames names(threads);
  rows.read([&](const columns::Chunk& chunk) {
    reading.check("reading " + table.name);
    const auto start = chunk[0].int64s(), stop = chunk[1].int64s();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      std::int64_t end = stop[i];
      if (table.still_open > 0 && chunk[1].is_null(i)) end = std::max(start[i], table.still_open);
      if (!has_times(start[i], end)) continue;
      std::vector<Item>* items =
          threads.find({whole(chunk[2], i), table.thread.empty() ? 0 : whole(chunk[5], i),
                        table.domain.empty() ? 0 : whole(chunk[6], i)});
      if (!items) continue;
      items->push_back(
          {start[i], end, whole(chunk[3], i), names.place(whole(chunk[4], i)), in_table});
    }
  });
  names.resolve(make_name);
}

template <class MakePath>
void add_host_tracks(Reading& reading, Collected<Thread>& threads, TrackKind kind,
                     const MakePath& make_path) {
  add_tracks(reading.model, threads, [&](const Thread& key, Track& track) {
    track.kind = kind;
    track.path = make_path(key);
  });
  if (threads.left_out > 0) {
    reading.model.losses.push_back(std::to_string(threads.left_out) + " " +
                                   std::string(noun_of(kind)) +
                                   " are of too many threads to be drawn");
  }
}

std::int64_t last_end(const Model& model) {
  std::int64_t last = 0;
  for (const Track& track : model.tracks) {
    for (const Row& row : track.rows) {
      if (row.size() > 0) last = std::max(last, row.end(row.size() - 1));
    }
  }
  return last;
}

void read_synchronizations(Reading& reading) {
  Collected<Thread> processes;
  read_table(reading,
             {.name = reading::table_name("SYNCHRONIZATION"), .end = "end", .named_by = "type"},
             processes, [&](std::int64_t type) {
               std::string name(schema::enum_name("CUpti_ActivitySynchronizationType", type));
               return reading.name(name.empty() ? "synchronize" : name);
             });
  add_host_tracks(reading, processes, TrackKind::synchronization, [&](const Thread& key) {
    return std::vector<std::string>{reading.process(std::get<0>(key)), "synchronizations"};
  });
}

}  // namespace

void read_call_tracks(Reading& reading) {
  Collected<Thread> threads;
  for (const schema::ApiKind& calls : schema::api_kinds) {
    read_table(reading,
               {.name = reading::table_name(calls.kind),
                .end = "end",
                .named_by = "cbid",
                .thread = "threadId"},
               threads, [&](std::int64_t cbid) {
                 return reading.name(reading.names.api(reading::domain_of(calls), cbid));
               });
  }
  add_host_tracks(reading, threads, TrackKind::api, [&](const Thread& key) {
    return std::vector<std::string>{reading.process(std::get<0>(key)),
                                    "CUDA API, " + reading.thread(std::get<1>(key))};
  });
  read_synchronizations(reading);
}

void read_range_tracks(Reading& reading) {
  if (!reading.tables.has("NVTX_RANGE", "stop")) {
    reading.model.ranges_missing =
        reading.tables.has(reading::table_name("MARKER")) &&
        reading.database.integer("SELECT 1 FROM main." + reading::table_name("MARKER") + " LIMIT 1")
            .has_value();
    return;
  }
  Collected<Thread> threads;
  read_table(reading,
             {.name = "NVTX_RANGE",
              .end = "stop",
              .named_by = "name",
              .thread = "threadId",
              .domain = "domain",
              .still_open = std::max<std::int64_t>(last_end(reading.model), 1)},
             threads, [&](std::int64_t id) { return reading.range_name(id); });
  add_host_tracks(reading, threads, TrackKind::range, [&](const Thread& key) {
    const auto [process, thread, domain] = key;
    std::string name = "NVTX, " + reading.thread(thread);
    if (domain != 0) name += ", " + reading.names.text(domain);
    return std::vector<std::string>{reading.process(process), name};
  });
}

}  // namespace gpuprof::view
