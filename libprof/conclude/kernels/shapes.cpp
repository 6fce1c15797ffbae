#include "libprof/conclude/kernels/shapes.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/duration_sum.hpp"
#include "libprof/compute/durations.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::kernels {
namespace {

// Columns as they are read.
struct At {
  enum Column : std::size_t {
    name,
    device,
    process,
    start,
    end,
    grid,
    block = grid + 3,
    registers = block + 3,
    dynamic_shared_memory,
    static_shared_memory,
    local_memory,
    carveout,
    carveout_requested,
  };
};

const std::vector<std::string> columns_read{"name",
                                            "deviceId",
                                            "processId",
                                            "start",
                                            "end",
                                            "gridX",
                                            "gridY",
                                            "gridZ",
                                            "blockX",
                                            "blockY",
                                            "blockZ",
                                            "registersPerThread",
                                            "dynamicSharedMemory",
                                            "staticSharedMemory",
                                            "localMemoryPerThread",
                                            "sharedMemoryCarveoutRequested",
                                            "isSharedMemoryCarveoutRequested"};

// What makes a shape: name, model of the device, and the columns from `grid` to `carveout`.
using Key = std::array<std::int64_t, 2 + At::carveout - At::grid + 1>;

struct Hash {
  std::size_t operator()(const Key& key) const {
    std::uint64_t hash = 0;
    for (const std::int64_t part : key) {
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
    return hash;
  }
};

class Reading {
 public:
  Reading(reading::Profile& profile, const std::function<void()>& check)
      : profile_(profile), check_(check) {}

  Shapes take() {
    for (const char* kind : {"KERNEL", "CONCURRENT_KERNEL"}) {
      const auto filter = profile_.wanted_rows(kind);
      if (!filter) continue;
      columns::Reader reader(
          profile_.snapshot(),
          {.table = reading::table_name(kind), .columns = columns_read, .filter = *filter});
      reader.read([&](const columns::Chunk& chunk) {
        check_();
        for (std::size_t row = 0; row < chunk.rows(); ++row) add(chunk, row);
      });
    }
    std::map<std::tuple<std::int64_t, Dimensions, Dimensions>, Shape*> launches;
    for (auto& [key, number] : numbers_) {
      finish(key, number);
      Shape& shape = found_.shapes[number];
      Shape*& first = launches[{shape.name_id, shape.grid, shape.block}];
      if (first) first->is_alone = shape.is_alone = false;
      first = &shape;
    }
    std::ranges::sort(found_.shapes, [](const Shape& a, const Shape& b) {
      if (a.total != b.total) return a.total > b.total;
      return std::tie(a.name, a.grid, a.block) < std::tie(b.name, b.grid, b.block);
    });
    for (auto& [model, number] : models_) {
      if (!model.empty()) found_.devices.push_back(model);
    }
    return std::move(found_);
  }

 private:
  void add(const columns::Chunk& chunk, std::size_t row) {
    const auto value = [&](std::size_t column) { return whole(chunk[column], row); };
    Key key{value(At::name), model_of(value(At::device))};
    for (std::size_t column = At::grid; column <= At::carveout; ++column) {
      key[2 + column - At::grid] = value(column);
    }
    if (chunk[At::local_memory].is_null(row)) key[2 + At::local_memory - At::grid] = -1;
    if (value(At::carveout_requested) == 0) key.back() = -1;
    ++found_.launches;
    const bool timed = value(At::start) > 0 && value(At::end) >= value(At::start);
    const std::int64_t duration = timed ? saturating_subtract(value(At::end), value(At::start)) : 0;
    found_.total = saturating_add(found_.total, duration);
    const auto number = number_of(key);
    if (!number) {
      ++found_.left_out;
      return;
    }
    Shape& shape = found_.shapes[*number];
    if (++shape.launches == 1)
      shape.device_id = value(At::device), shape.process_id = value(At::process);
    if (!timed) return;
    sums_[*number].add(duration);
    durations_.add(*number, duration);
  }

  // Nullopt: there are too many.
  std::optional<std::size_t> number_of(const Key& key) {
    if (latest_ && latest_->first == key) return latest_->second;
    auto known = numbers_.find(key);
    if (known == numbers_.end()) {
      if (numbers_.size() == compute::Durations::most_groups) return {};
      known = numbers_.emplace(key, numbers_.size()).first;
      found_.shapes.emplace_back();
      sums_.emplace_back();
    }
    latest_ = *known;
    return known->second;
  }

  std::int64_t model_of(std::int64_t device_id) {
    const auto [known, is_new] = devices_.try_emplace(device_id);
    if (is_new) {
      const auto next = static_cast<std::int64_t>(models_.size());
      known->second =
          models_.try_emplace(profile_.names().device_model(device_id), next).first->second;
    }
    return known->second;
  }

  void finish(const Key& key, std::size_t number) {
    Shape& shape = found_.shapes[number];
    const auto value = [&](std::size_t column) { return key[2 + column - At::grid]; };
    shape.name_id = key[0];
    shape.name = profile_.names().kernel(shape.name_id);
    shape.device = profile_.names().device_model(shape.device_id);
    for (std::size_t i = 0; i < 3; ++i) {
      shape.grid[i] = value(At::grid + i);
      shape.block[i] = value(At::block + i);
    }
    shape.registers = value(At::registers);
    shape.dynamic_shared_memory = value(At::dynamic_shared_memory);
    shape.static_shared_memory = value(At::static_shared_memory);
    shape.local_memory = value(At::local_memory);
    shape.carveout = value(At::carveout);
    const compute::DurationSum& sum = sums_[number];
    const auto spread = durations_.spread(number);
    if (!spread) return;
    shape.timed = sum.timed;
    shape.total = sum.total;
    shape.shortest = sum.shortest;
    shape.longest = sum.longest;
    shape.median = spread->median;
    shape.p90 = spread->p90;
  }

  reading::Profile& profile_;
  const std::function<void()>& check_;
  Shapes found_;
  std::unordered_map<Key, std::size_t, Hash> numbers_;  // indexes in shapes
  std::optional<std::pair<Key, std::size_t>> latest_;   // launches come in loops
  std::vector<compute::DurationSum> sums_;
  compute::Durations durations_;
  std::unordered_map<std::int64_t, std::int64_t> devices_;  // to models
  std::map<std::string, std::int64_t> models_;
};

}  // namespace

std::int64_t product(const Dimensions& sizes) {
  return saturating_multiply(saturating_multiply(sizes[0], sizes[1]), sizes[2]);
}

Shapes read_shapes(reading::Profile& profile, const std::function<void()>& check) {
  return Reading(profile, check).take();
}

std::optional<Occupancy> read_occupancy(reading::Profile& profile, const Shape& shape) {
  store::Database& database = profile.database();
  if (!database.has_column("LAUNCH_SHAPE", "tailShare")) return {};
  auto row = database.prepare(
      "SELECT blocksPerMultiprocessor, limiter, occupancy, waves, tailShare FROM main.LAUNCH_SHAPE "
      "WHERE blocks = ?1 AND threadsPerBlock = ?2 AND sharedMemory = ?3 AND registersPerThread = "
      "?4 AND carveout = ?5 AND deviceId = ?6 AND processId = ?7");
  row.bind(1, product(shape.grid)).bind(2, product(shape.block));
  row.bind(3, saturating_add(shape.static_shared_memory, shape.dynamic_shared_memory));
  row.bind(4, shape.registers).bind(5, shape.carveout);
  row.bind(6, shape.device_id).bind(7, shape.process_id);
  if (!row.step()) return {};
  return Occupancy{.blocks_per_multiprocessor = row.integer(0),
                   .limiter = std::string(row.text(1)),
                   .theoretical = row.real(2),
                   .waves = row.real(3),
                   .tail_share = row.real(4)};
}

}  // namespace gpuprof::kernels
