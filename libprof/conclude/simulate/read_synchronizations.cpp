#include "libprof/conclude/simulate/read_schedule.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::simulate {

void read_synchronizations(store::Snapshot& snapshot, Read& read, const Check& check) {
  const auto stream_of = [](const columns::Chunk& chunk, std::size_t row) {
    return whole(chunk[2], row) << 32 | (whole(chunk[3], row) & 0xffffffff);
  };
  columns::Reader waits(snapshot, {.table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                   .columns = {"correlationId", "processId", "contextId",
                                               "streamId", "cudaEventSyncId", "type"}});
  waits.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t type = whole(chunk[5], row);
      if (type < Synchronization::of_event || type > Synchronization::of_context) continue;
      read.synchronizations.push_back({.correlation = whole(chunk[0], row),
                                       .process = whole(chunk[1], row),
                                       .stream = stream_of(chunk, row),
                                       .recording = whole(chunk[4], row),
                                       .type = static_cast<std::int32_t>(type)});
    }
  });
  columns::Reader events(snapshot, {.table = "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                    .columns = {"correlationId", "processId", "contextId",
                                                "streamId", "cudaEventSyncId"}});
  events.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      read.synchronizations.push_back({.correlation = whole(chunk[0], row),
                                       .process = whole(chunk[1], row),
                                       .stream = stream_of(chunk, row),
                                       .recording = whole(chunk[4], row),
                                       .type = Synchronization::record});
    }
  });
}

}  // namespace gpuprof::simulate
