#include "libprof/derive/gpu_work.hpp"

#include <string>

#include "libprof/columns/reader.hpp"
#include "schema/gpu_kinds.hpp"

namespace gpuprof::derive {

bool GpuWork::is_kernel() const { return schema::gpu_kinds[kind].type == "kernel"; }

bool GpuWork::computes() const { return is_kernel() || schema::gpu_kinds[kind].type == "graph"; }

void CorrelationSet::add(std::int64_t correlation) {
  const std::int64_t block = correlation >> 15;
  auto found = blocks_.find(block);
  if (found == blocks_.end()) {
    if (full_ || blocks_.size() == most_blocks) {
      full_ = true;
      return;
    }
    found = blocks_.emplace(block, std::vector<bool>(ids_per_block)).first;
  }
  found->second[static_cast<std::size_t>(correlation & (ids_per_block - 1))] = true;
}

bool CorrelationSet::contains(std::int64_t correlation) const {
  if (full_) return true;
  const auto found = blocks_.find(correlation >> 15);
  return found != blocks_.end() &&
         found->second[static_cast<std::size_t>(correlation & (ids_per_block - 1))];
}

void read_gpu_work(store::Snapshot& snapshot, Sorted<GpuWork>& work, CorrelationSet& asked_for,
                   const std::function<void()>& check) {
  for (std::size_t kind = 0; kind < schema::gpu_kinds.size(); ++kind) {
    const schema::GpuKind& each = schema::gpu_kinds[kind];
    if (each.kind == "CDP_KERNEL") continue;  // a table that stays empty
    std::vector<std::string> names{"deviceId",      "start",     std::string(each.end),
                                   "correlationId", "contextId", "streamId",
                                   "processId"};
    if (each.named_by == "name") names.emplace_back("name");
    columns::Reader reader(snapshot, {.table = "CUPTI_ACTIVITY_KIND_" + std::string(each.kind),
                                      .columns = std::move(names)});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto device = chunk[0].int64s(), begin = chunk[1].int64s(), end = chunk[2].int64s(),
                 correlation = chunk[3].int64s(), context = chunk[4].int64s(),
                 stream = chunk[5].int64s(), process = chunk[6].int64s();
      const auto name =
          each.named_by == "name" ? chunk[7].int32s() : std::span<const std::int32_t>();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (correlation[row] != 0) asked_for.add(correlation[row]);
        if (begin[row] <= 0 || end[row] <= begin[row]) continue;
        work.add({.device = device[row],
                  .begin = begin[row],
                  .end = end[row],
                  .correlation = correlation[row],
                  .stream = context[row] << 32 | (stream[row] & 0xffffffff),
                  .process = process[row],
                  .name = name.empty() ? 0 : name[row],
                  .kind = static_cast<std::uint8_t>(kind)});
      }
    });
  }
}

}  // namespace gpuprof::derive
