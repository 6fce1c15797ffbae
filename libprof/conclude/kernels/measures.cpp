#include "libprof/conclude/kernels/measures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "schema/metric_sets.hpp"

namespace gpuprof::kernels {
namespace {

namespace sets = schema::sets;

constexpr std::string_view efficiencies[]{"flop_sp_efficiency", "flop_dp_efficiency",
                                          "flop_hp_efficiency"};
// Shares of these units' peaks.
constexpr std::string_view memory_units[]{"gpu__compute_memory_throughput",
                                          "dram__throughput",
                                          "lts__throughput",
                                          "lts__t_sectors",
                                          "l1tex__throughput",
                                          "l1tex__data_pipe_lsu_wavefronts"};
constexpr std::string_view operations[]{"flop_count_sp", "flop_count_dp", "flop_count_hp"};
// Of reading and of writing: nvprof's name and those it stands for.
constexpr std::string_view bytes_read[]{"dram_read_bytes", "dram__bytes_read.sum",
                                        "dram__bytes_op_read.sum"};
constexpr std::string_view bytes_written[]{"dram_write_bytes", "dram__bytes_write.sum",
                                           "dram__bytes_op_write.sum"};

const Metric* find(std::span<const Metric> metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? nullptr : &*found;
}

const Metric* first_of(std::span<const Metric> metrics, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Metric* metric = find(metrics, name)) return metric;
  }
  return nullptr;
}

void take_larger(std::optional<Share>& largest, const Metric* metric) {
  if (metric && (!largest || metric->mean > largest->percent)) {
    largest = Share{metric->mean, metric->name};
  }
}

// The metrics of the tensor cores with this roll-up.
std::vector<const Metric*> of_tensor_cores(std::span<const Metric> metrics,
                                           std::string_view roll_up) {
  std::vector<const Metric*> found;
  for (const schema::SetMetric& counter : sets::tensor) {
    for (const std::string_view name : {counter.name, counter.otherwise}) {
      if (name.empty()) continue;
      const Metric* metric = find(metrics, std::string(name).append(roll_up));
      if (!metric) continue;
      found.push_back(metric);
      break;
    }
  }
  return found;
}

// Operations of several types share the tensor cores, so their shares add up.
void take_tensor_cores(std::optional<Share>& largest, std::span<const Metric> metrics) {
  const auto parts = of_tensor_cores(metrics, sets::of_peak);
  if (parts.empty()) return;
  Metric sum{.name = parts.front()->name, .unit = {}};
  for (const Metric* part : parts) {
    sum.mean += part->mean;
    if (part->mean > find(metrics, sum.name)->mean) sum.name = part->name;
  }
  take_larger(largest, &sum);
}

// Of the roofline: the operations that it counts, against the peak for such operations.
std::optional<Share> roof_of_compute(std::span<const Metric> metrics) {
  std::optional<Share> largest;
  for (const std::string_view name : efficiencies) take_larger(largest, find(metrics, name));
  take_tensor_cores(largest, metrics);
  return largest;
}

}  // namespace

std::optional<Share> compute_share(std::span<const Metric> metrics) {
  std::optional<Share> largest = roof_of_compute(metrics);
  take_larger(largest, find(metrics, std::string("sm__throughput").append(sets::of_peak)));
  for (const schema::SetMetric& metric : sets::compute) {
    take_larger(largest, find(metrics, metric.name));
  }
  return largest;
}

std::optional<Share> memory_share(std::span<const Metric> metrics) {
  std::optional<Share> largest;
  for (const std::string_view unit : memory_units) {
    take_larger(largest, find(metrics, std::string(unit).append(sets::of_peak)));
  }
  return largest;
}

std::optional<Share> achieved_occupancy(std::span<const Metric> metrics) {
  if (const Metric* metric = find(metrics, "achieved_occupancy")) {
    return Share{100 * metric->mean, metric->name};
  }
  std::optional<Share> share;
  take_larger(share, find(metrics, "sm__warps_active" GPUPROF_OF_ACTIVE_PEAK));
  return share;
}

std::optional<double> Roofline::intensity() const {
  return bytes > 0 ? std::optional(operations / bytes) : std::nullopt;
}

std::optional<bool> Roofline::is_bound_by_memory() const {
  if (!compute || !memory) return {};
  return memory->percent >= compute->percent;
}

std::optional<Roofline> roofline(std::span<const Metric> metrics) {
  Roofline found;
  const auto add = [](double& sum, std::vector<std::string>& names, const Metric* metric) {
    if (!metric) return;
    sum += metric->mean;
    names.push_back(metric->name);
  };
  for (const std::string_view name : operations) {
    add(found.operations, found.operation_metrics, find(metrics, name));
  }
  for (const Metric* metric : of_tensor_cores(metrics, sets::sum)) {
    add(found.operations, found.operation_metrics, metric);
  }
  add(found.bytes, found.byte_metrics, first_of(metrics, bytes_read));
  add(found.bytes, found.byte_metrics, first_of(metrics, bytes_written));
  if (found.operation_metrics.empty() || found.byte_metrics.size() < 2) return {};
  if (const Metric* metric = find(metrics, sets::duration)) found.duration = metric->mean;
  found.compute = roof_of_compute(metrics);
  take_larger(found.memory, find(metrics, sets::dram_share));
  return found;
}

namespace {

using LaunchKey = std::array<std::int64_t, 7>;  // name, grid, block

struct Sum {
  double of_values = 0;
  std::int64_t count = 0;
};

LaunchKey key_of(const Shape& shape) {
  return {shape.name_id,  shape.grid[0],  shape.grid[1], shape.grid[2],
          shape.block[0], shape.block[1], shape.block[2]};
}

std::map<std::int64_t, Metric> read_names(store::Database& database) {
  std::map<std::int64_t, Metric> names;
  auto rows = database.prepare("SELECT _id_, name, unit FROM main.METRIC");
  while (rows.step()) {
    names[rows.integer(0)] = {.name = std::string(rows.text(1)), .unit = std::string(rows.text(2))};
  }
  return names;
}

std::vector<Metric> means(const std::map<std::int64_t, Sum>& sums,
                          const std::map<std::int64_t, Metric>& names) {
  std::vector<Metric> metrics;
  for (const auto& [id, sum] : sums) {
    const auto named = names.find(id);
    const double mean = sum.of_values / static_cast<double>(sum.count);
    if (named == names.end() || !std::isfinite(mean)) continue;
    Metric& metric = metrics.emplace_back(named->second);
    metric.mean = mean;
    metric.measured = sum.count;
  }
  return metrics;
}

}  // namespace

Measured read_measured(reading::Profile& profile, std::span<const Shape> shapes,
                       const std::function<void()>& check) {
  Measured found{.metrics = std::vector<std::vector<Metric>>(shapes.size())};
  store::Database& database = profile.database();
  for (const auto& [table, column] :
       {std::pair("METRIC_RANGE", "blockZ"), {"METRIC_VALUE", "value"}, {"METRIC", "unit"}}) {
    if (!database.has_column(table, column)) return found;
  }
  found.patched =
      database.has_column("METRIC_GROUP", "costClass") &&
      database.integer("SELECT 1 FROM main.METRIC_GROUP WHERE costClass = 'patched code' LIMIT 1");
  std::map<LaunchKey, std::map<std::int64_t, Sum>> sums;  // of the shapes
  for (const Shape& shape : shapes) sums[key_of(shape)];
  auto rows = database.prepare(
      "SELECT coalesce(r.name, 0), r.gridX, r.gridY, r.gridZ, r.blockX, r.blockY, r.blockZ, "
      "v.metric, v.value FROM main.METRIC_RANGE AS r "
      "CROSS JOIN main.METRIC_VALUE AS v ON v.range = r._id_ WHERE r.kind = 'kernel'");
  for (std::uint64_t count = 0; rows.step(); ++count) {
    if (count % 4096 == 0) check();
    found.any = true;
    LaunchKey launch{};
    for (std::size_t i = 0; i < launch.size(); ++i) launch[i] = rows.integer(static_cast<int>(i));
    const auto its = sums.find(launch);
    if (its == sums.end() || rows.is_null(8)) continue;
    Sum& sum = its->second[rows.integer(7)];
    sum.of_values += rows.real(8);
    ++sum.count;
  }
  const std::map<std::int64_t, Metric> names = read_names(database);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    found.metrics[i] = means(sums[key_of(shapes[i])], names);
  }
  return found;
}

}  // namespace gpuprof::kernels
