#include "libprof/compute/launch_shapes.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {
namespace {

constexpr std::int64_t no_carveout = -1;
constexpr std::int64_t reserved_shared_memory_per_block = 111;  // CUdevice_attribute

std::int64_t product(std::int64_t x, std::int64_t y, std::int64_t z) {
  return saturating_multiply(saturating_multiply(x, y), z);
}

std::string words(unsigned limits) {
  constexpr std::pair<Occupancy::Limit, const char*> names[]{
      {Occupancy::warps, "warps"},
      {Occupancy::registers, "registers"},
      {Occupancy::shared_memory, "shared memory"},
      {Occupancy::blocks, "blocks"}};
  std::string text;
  for (const auto& [limit, name] : names) {
    if (limits & limit) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text;
}

}  // namespace

std::size_t LaunchShapes::Hash::operator()(const Key& key) const {
  std::uint64_t hash = 0;
  for (const std::int64_t part : {key.blocks, key.threads, key.shared_memory, key.registers,
                                  key.carveout, key.device, key.process}) {
    hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

void LaunchShapes::add(const KernelRows& kernels) {
  for (std::size_t i = 0; i < kernels.count; ++i) {
    const Key key{.blocks = product(kernels.grid_x[i], kernels.grid_y[i], kernels.grid_z[i]),
                  .threads = product(kernels.block_x[i], kernels.block_y[i], kernels.block_z[i]),
                  .shared_memory = std::int64_t{kernels.static_shared_memory[i]} +
                                   kernels.dynamic_shared_memory[i],
                  .registers = kernels.registers[i],
                  .carveout = kernels.carveout_requested[i] ? kernels.carveout[i] : no_carveout,
                  .device = kernels.device[i],
                  .process = kernels.process[i]};
    if (!(key == latest_)) {
      latest_ = key;
      latest_shape_ = shape_of(key);
    }
    if (!latest_shape_) continue;
    Launches* launches = launches_of(*latest_shape_, kernels.name[i]);
    if (!launches) continue;
    ++launches->count;
    if (kernels.begin[i] == 0 || kernels.end[i] == 0) continue;  // not collected
    launches->durations.add(saturating_subtract(kernels.end[i], kernels.begin[i]));
  }
}

std::optional<std::size_t> LaunchShapes::shape_of(const Key& key) {
  if (key.blocks == std::numeric_limits<std::int64_t>::max()) return {};  // overflow
  const auto known = shapes_.find(key);
  if (known != shapes_.end()) return known->second;
  if (keys_.size() == most_shapes) return {};
  keys_.push_back(key);
  return shapes_[key] = keys_.size() - 1;
}

LaunchShapes::Launches* LaunchShapes::launches_of(std::size_t shape, std::int32_t kernel) {
  if (latest_launches_ < launches_.size()) {
    Launches& latest = launches_[latest_launches_];
    if (latest.shape == shape && latest.kernel == kernel) return &latest;
  }
  const std::uint64_t key = std::uint64_t{shape} << 32 | static_cast<std::uint32_t>(kernel);
  auto known = by_kernel_.find(key);
  if (known == by_kernel_.end()) {
    if (launches_.size() == most_shapes) {
      complete_ = false;
      return nullptr;
    }
    known = by_kernel_.emplace(key, launches_.size()).first;
    launches_.push_back({.shape = shape, .kernel = kernel, .count = 0, .durations = {}});
  }
  latest_launches_ = known->second;
  return &launches_[latest_launches_];
}

void LaunchShapes::read_devices(store::Snapshot& snapshot) {
  columns::Reader devices(
      snapshot, {.table = "CUPTI_ACTIVITY_KIND_DEVICE",
                 .columns = {"id", "processId", "computeCapabilityMajor", "computeCapabilityMinor",
                             "numMultiprocessors", "maxWarpsPerMultiprocessor",
                             "maxBlocksPerMultiprocessor", "maxRegistersPerMultiprocessor",
                             "maxSharedMemoryPerMultiprocessor", "maxRegistersPerBlock"}});
  devices.read([&](const columns::Chunk& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const auto value = [&](std::size_t column) { return chunk[column].int64s()[row]; };
      devices_[{value(0), value(1)}] = {.compute_major = value(2),
                                        .compute_minor = value(3),
                                        .multiprocessors = value(4),
                                        .warps = value(5),
                                        .blocks = value(6),
                                        .registers = value(7),
                                        .shared_memory = value(8),
                                        .registers_per_block = value(9),
                                        .reserved_shared_memory_per_block = -1};
    }
  });
  columns::Reader attributes(
      snapshot, {.table = "CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE",
                 .columns = {"deviceId", "processId", "flags", "attributeId", "valueInt"}});
  attributes.read([&](const columns::Chunk& chunk) {
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const auto value = [&](std::size_t column) { return chunk[column].int64s()[row]; };
      const auto device = devices_.find({value(0), value(1)});
      if (device == devices_.end() || chunk[2].booleans()[row] != 1 ||
          chunk[3].int32s()[row] != reserved_shared_memory_per_block || chunk[4].is_null(row)) {
        continue;
      }
      device->second.reserved_shared_memory_per_block = value(4);
    }
  });
}

void LaunchShapes::write(store::Database& database) const {
  std::vector<std::size_t> in_order(keys_.size());
  std::iota(in_order.begin(), in_order.end(), std::size_t{0});
  std::ranges::sort(in_order, {}, [&](std::size_t shape) { return keys_[shape]; });
  std::vector<std::optional<Occupancy>> occupancies(keys_.size());
  store::Statement insert = fill(database, schema::tables::launch_shape);
  for (const std::size_t shape : in_order) {
    const Key& key = keys_[shape];
    const auto device = devices_.find({key.device, key.process});
    if (device == devices_.end()) continue;
    const auto carveout = key.carveout == no_carveout ? std::nullopt : std::optional(key.carveout);
    const auto& found = occupancies[shape] =
        occupancy(device->second, {.blocks = key.blocks,
                                   .threads_per_block = key.threads,
                                   .registers_per_thread = key.registers,
                                   .shared_memory_per_block = key.shared_memory,
                                   .carveout = carveout});
    if (!found) continue;
    insert.bind(1, key.blocks).bind(2, key.threads).bind(3, key.shared_memory);
    insert.bind(4, key.registers).bind(5, key.carveout).bind(6, key.device).bind(7, key.process);
    insert.bind(8, found->blocks_per_multiprocessor).bind(9, words(found->limits));
    insert.bind(10, found->theoretical).bind(11, found->waves).bind(12, found->tail_share).run();
  }
  write_occupancy(database, occupancies);
}

void LaunchShapes::write_occupancy(store::Database& database,
                                   const std::vector<std::optional<Occupancy>>& occupancies) const {
  struct Sum {
    double waves = std::numeric_limits<double>::infinity();  // minimum
    std::int64_t launches = 0, timed = 0, total = 0;
  };
  store::Statement insert = fill(database, schema::tables::occupancy_time);
  if (!complete_) return;
  std::map<std::tuple<std::int32_t, double, unsigned>, Sum> sums;
  for (const Launches& launches : launches_) {
    const auto& found = occupancies[launches.shape];
    if (!found) continue;
    Sum& sum = sums[{launches.kernel, found->theoretical, found->limits}];
    sum.waves = std::min(sum.waves, found->waves);
    sum.launches += launches.count;
    sum.timed += launches.durations.timed;
    sum.total = saturating_add(sum.total, launches.durations.total);
  }
  for (const auto& [key, sum] : sums) {
    const auto& [kernel, theoretical, limits] = key;
    insert.bind(1, std::int64_t{kernel}).bind(2, theoretical).bind(3, words(limits));
    insert.bind(4, sum.waves).bind(5, sum.launches);
    sum.timed > 0 ? insert.bind(6, sum.total) : insert.bind_null(6);
    insert.run();
  }
}

}  // namespace gpuprof::compute
