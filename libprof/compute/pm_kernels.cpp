#include "libprof/compute/pm_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "libprof/compute/fill.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/derived.hpp"

namespace gpuprof::compute {

void PmKernels::read(store::Database& database, store::Snapshot& snapshot,
                     const std::function<void()>& check) {
  const std::string table(schema::PmSample::table.name);
  if (!database.has_table(table) ||
      !database.integer("SELECT 1 FROM main.PM_SAMPLE LIMIT 1").has_value()) {
    return;
  }
  events_.emplace();
  std::vector<std::string> names{"deviceId", "start", "stop", "part"};
  for (const std::string_view name : schema::pm_value_names) names.emplace_back(name);
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();
  columns::Reader reader(snapshot, {.table = table, .columns = std::move(names)});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    const auto device = chunk[0].int64s(), begin = chunk[1].int64s(), end = chunk[2].int64s(),
               part = chunk[3].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (begin[row] <= 0 || end[row] <= begin[row] || part[row] < 0) continue;
      Event sample{.device = device[row], .begin = begin[row], .end = end[row]};
      sample.part = static_cast<std::int32_t>(part[row]);
      for (std::size_t i = 0; i < sample.values.size(); ++i) {
        sample.values[i] = chunk[4 + i].is_null(row) ? std::numeric_limits<double>::quiet_NaN()
                                                     : chunk[4 + i].doubles()[row];
      }
      shortest = std::min(shortest, sample.end - sample.begin);
      events_->add(sample);
    }
  });
  std::optional<Sorted<Event>> kernels(std::in_place);
  read_gpu_work(snapshot, {.visit =
                               [&](const GpuWork& each) {
                                 // A shorter kernel never covers more than half of a sample.
                                 if (!each.is_kernel() || each.end - each.begin <= shortest / 2) {
                                   return;
                                 }
                                 Event kernel{
                                     .device = each.device, .begin = each.begin, .end = each.end};
                                 kernel.correlation = each.correlation;
                                 kernel.name = each.name;
                                 kernels->add(kernel);
                               },
                           .restart = [&] { kernels.emplace(); },
                           .check = check});
  kernels->for_each([&](const Event& kernel) { events_->add(kernel); });
  events_->for_each([&](const Event& event) { take(event); });
  close_until(device_, std::numeric_limits<std::int64_t>::max());
  events_.reset();
}

// Each pair meets once: when the one that begins later arrives.
void PmKernels::take(const Event& event) {
  if (event.device != device_) {
    close_until(device_, std::numeric_limits<std::int64_t>::max());
    recent_.clear();
    device_ = event.device;
  }
  close_until(device_, event.begin);
  std::erase_if(recent_, [&](const Event& sample) { return sample.end <= event.begin; });
  if (event.part == no_part) {
    if (open_.size() >= most_open) return;
    open_.push_back({.kernel = event, .parts = {}});
    for (const Event& sample : recent_) count(open_.back(), sample);
  } else {
    for (Open& open : open_) count(open, event);
    if (recent_.size() < most_open) recent_.push_back(event);
  }
}

void PmKernels::count(Open& open, const Event& sample) {
  const std::int64_t inside =
      std::min(open.kernel.end, sample.end) - std::max(open.kernel.begin, sample.begin);
  if (inside <= (sample.end - sample.begin) / 2) return;
  auto means = std::ranges::find(open.parts, sample.part, &Means::part);
  if (means == open.parts.end()) {
    Means fresh;
    fresh.kernel = open.kernel;
    fresh.part = sample.part;
    open.parts.push_back(fresh);
    means = open.parts.end() - 1;
  }
  ++means->samples;
  for (std::size_t i = 0; i < sample.values.size(); ++i) {
    if (std::isnan(sample.values[i])) continue;
    means->sums[i] += sample.values[i] * static_cast<double>(inside);
    means->weights[i] += static_cast<double>(inside);
  }
}

void PmKernels::close_until(std::int64_t device, std::int64_t time) {
  std::erase_if(open_, [&](const Open& open) {
    if (open.kernel.device == device && open.kernel.end > time) return false;
    for (const Means& means : open.parts) found_.add(means);
    return true;
  });
}

void PmKernels::write(store::Database& database) {
  if (!database.has_table(std::string(schema::tables::pm_kernel.name))) return;
  store::Statement insert = fill(database, schema::tables::pm_kernel);
  if (found_.empty()) return;
  found_.for_each([&](const Means& means) {
    insert.bind(1, means.kernel.device).bind(2, std::int64_t{means.kernel.name});
    insert.bind(3, means.kernel.begin).bind(4, means.kernel.end);
    insert.bind(5, means.kernel.correlation).bind(6, means.samples);
    insert.bind(7, std::int64_t{means.part});
    for (std::size_t i = 0; i < means.sums.size(); ++i) {
      const int at = static_cast<int>(8 + i);
      means.weights[i] > 0 ? insert.bind(at, means.sums[i] / means.weights[i])
                           : insert.bind_null(at);
    }
    insert.run();
  });
}

}  // namespace gpuprof::compute
