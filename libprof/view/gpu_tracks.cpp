// Streams, and NVTX ranges as the GPU worked for them.
#include <algorithm>
#include <tuple>

#include "libprof/view/labels.hpp"
#include "libprof/view/reading.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {
namespace {

struct Stream {
  std::int64_t device = 0, process = 0, context = 0, stream = 0;
  auto operator<=>(const Stream&) const = default;
};

void read_kind(Reading& reading, const schema::GpuKind& kind, Labels& labels,
               Collected<Stream>& streams) {
  const std::string table = reading::table_name(kind.kind);
  if (!reading.tables.has(table)) return;
  std::vector<std::string> columns = {"start",    std::string(kind.end), "deviceId", "contextId",
                                      "streamId", "processId",           "_id_"};
  if (!kind.named_by.empty()) columns.emplace_back(kind.named_by);
  const std::uint8_t number = reading.table(table, kind.is_kernel() || kind.type == "graph");
  columns::Reader rows(reading.snapshot, {.table = table, .columns = columns});
  LateNames names(streams);
  rows.read([&](const columns::Chunk& chunk) {
    reading.check("reading GPU work");
    const auto start = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      if (!has_times(start[i], end[i]) || end[i] == start[i]) {
        ++reading.model.without_times;
        continue;
      }
      std::vector<Item>* items = streams.find(
          {whole(chunk[2], i), whole(chunk[5], i), whole(chunk[3], i), whole(chunk[4], i)});
      if (!items) continue;
      const std::int64_t name = kind.named_by.empty() ? 0 : whole(chunk[7], i);
      items->push_back({start[i], end[i], whole(chunk[6], i), names.place(name), number});
    }
  });
  names.resolve([&](std::int64_t id) {
    return reading.name(reading.names.gpu_work(kind, id),
                        kind.is_kernel() ? labels.find(id) : Labels::Label());
  });
}

void add_streams(Reading& reading, Collected<Stream>& streams) {
  add_tracks(reading.model, streams, [&](const Stream& key, Track& track) {
    track.kind = TrackKind::stream;
    track.device = key.device;
    std::string name = "stream " + reading.names.stream(key.device, key.context, key.stream);
    const auto other_context = [&](const auto& each) {
      return each.first.device == key.device && each.first.process == key.process &&
             each.first.context != key.context;
    };
    if (std::ranges::any_of(streams.tracks(), other_context)) {
      name = "context " + reading.names.context(key.device, key.context) + " " + name;
    }
    track.path = {reading.names.device(key.device), reading.process(key.process), name};
  });
  if (streams.left_out > 0) {
    reading.model.losses.push_back(std::to_string(streams.left_out) +
                                   " records of GPU work are of too many streams to be drawn");
  }
}

// Device, process, thread.
using OnGpu = std::tuple<std::int64_t, std::int64_t, std::int64_t>;

void read_ranges_on_gpu(Reading& reading) {
  if (!reading.tables.has("RANGE_TIME", "first") || !reading.tables.has("NVTX_RANGE", "threadId")) {
    return;
  }
  const std::uint8_t number = reading.table("NVTX_RANGE");
  Collected<OnGpu> threads;
  LateNames names(threads);
  auto rows = reading.database.prepare(
      "SELECT t.first, t.last, r._id_, t.deviceId, r.processId, r.threadId, r.name "
      "FROM main.RANGE_TIME AS t JOIN main.NVTX_RANGE AS r ON r._id_ = t.range");
  while (rows.step()) {
    const std::int64_t first = rows.integer(0), last = rows.integer(1);
    if (!has_times(first, last)) continue;
    std::vector<Item>* items = threads.find({rows.integer(3), rows.integer(4), rows.integer(5)});
    if (!items) continue;
    items->push_back({first, last, rows.integer(2), names.place(rows.integer(6)), number});
    if (items->size() % 65536 == 0) reading.check("reading NVTX ranges");
  }
  names.resolve([&](std::int64_t id) { return reading.range_name(id); });
  add_tracks(reading.model, threads, [&](const OnGpu& key, Track& track) {
    const auto [device, process, thread] = key;
    track.kind = TrackKind::range_on_gpu;
    track.device = device;
    track.path = {reading.names.device(device), reading.process(process),
                  "NVTX on GPU, " + reading.thread(thread)};
  });
}

}  // namespace

void read_gpu_tracks(Reading& reading) {
  Collected<Stream> streams;
  Labels labels(reading.tables);
  for (const schema::GpuKind& kind : schema::gpu_kinds) read_kind(reading, kind, labels, streams);
  add_streams(reading, streams);
  read_ranges_on_gpu(reading);
}

}  // namespace gpuprof::view
