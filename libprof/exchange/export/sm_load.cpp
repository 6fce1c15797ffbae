#include "libprof/exchange/export/sm_load.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "schema/derived.hpp"

namespace gpuprof::exporting {
namespace {

constexpr std::int64_t threads_per_warp = 32;

std::int64_t product(const std::array<std::int64_t, 3>& sizes) {
  return saturating_multiply(saturating_multiply(sizes[0], sizes[1]), sizes[2]);
}

}  // namespace

SmLoads::SmLoads(store::Database& database) {
  if (database.has_columns("CUPTI_ACTIVITY_KIND_DEVICE", {"id", "processId", "numMultiprocessors",
                                                          "maxWarpsPerMultiprocessor"})) {
    auto rows = database.prepare(
        "SELECT processId, id, numMultiprocessors, maxWarpsPerMultiprocessor "
        "FROM main.CUPTI_ACTIVITY_KIND_DEVICE");
    while (rows.step()) {
      devices_[{rows.integer(0), rows.integer(1)}] = {rows.integer(2), rows.integer(3)};
    }
  }
  for (const schema::Column& column : schema::tables::launch_shape.columns) {
    if (!database.has_column("LAUNCH_SHAPE", column.name)) return;
  }
  auto rows = database.prepare(
      "SELECT blocks, threadsPerBlock, sharedMemory, registersPerThread, carveout, deviceId, "
      "processId, blocksPerMultiprocessor FROM main.LAUNCH_SHAPE");
  while (rows.step()) {
    std::array<std::int64_t, 7> key{};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = rows.integer(static_cast<int>(i));
    blocks_[key] = rows.integer(7);
  }
}

std::optional<SmLoads::Load> SmLoads::of(const Activity& kernel) const {
  const auto device = devices_.find({kernel.process, kernel.device});
  if (!kernel.shape || device == devices_.end() || device->second.multiprocessors <= 0) return {};
  const Activity::Shape& shape = *kernel.shape;
  const std::int64_t blocks = product(shape.grid), threads = product(shape.block);
  Load load;
  load.blocks = static_cast<double>(blocks) / static_cast<double>(device->second.multiprocessors);
  load.warps = load.blocks * static_cast<double>(threads) / threads_per_warp;
  const auto fit = blocks_.find(
      {blocks, threads,
       saturating_add(shape.static_memory.value_or(0), shape.dynamic_memory.value_or(0)),
       shape.registers.value_or(0), shape.carveout, kernel.device, kernel.process});
  if (fit != blocks_.end() && device->second.warps > 0) {
    load.occupancy =
        std::min(load.blocks, static_cast<double>(fit->second)) * static_cast<double>(threads) /
        static_cast<double>(saturating_multiply(device->second.warps, threads_per_warp));
  }
  return load;
}

}  // namespace gpuprof::exporting
