#include "apps/gpuprof/run/live_samples.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "libprof/wire/format.hpp"
#include "libprof/wire/messages.hpp"
#include "schema/sampled.hpp"

namespace gpuprof::app {
namespace {

// The packed layout of a PM_SAMPLE row.
struct PackedSample {
  static constexpr std::size_t start = 4, stop = 12, part = 20, values = 24;
  static constexpr std::size_t width = values + 8 * schema::pm_values_per_row;
};
static_assert(schema::PmSample::columns[0].width == PackedSample::start &&
              schema::PmSample::columns[3].width == PackedSample::values - PackedSample::part);

// "sm__cycles_active 12.3 %", "pcie__read_bytes 1.23 G/s"
std::string shown(const std::string& metric, double value) {
  const std::string name = metric.substr(0, metric.find('.', metric.find("__")));
  char number[64];
  if (metric.find(".pct") != metric.npos) {
    std::snprintf(number, sizeof number, "%.1f %%", value);
    return name + " " + number;
  }
  constexpr std::array scales{"", "k", "M", "G", "T"};
  std::size_t scale = 0;
  for (; std::abs(value) >= 1000 && scale + 1 < scales.size(); ++scale) value /= 1000;
  std::snprintf(number, sizeof number, "%.3g%s%s%s", value, scale ? " " : "", scales[scale],
                metric.ends_with(".per_second") ? "/s" : "");
  return name + " " + number;
}

}  // namespace

void LiveSamples::take(const wire::Frame& frame) {
  if (frame.type != wire::FrameType::rows) return;
  const auto rows = wire::decode_own_rows(frame.payload());
  if (!rows) return;
  const std::lock_guard lock(mutex_);
  for (const wire::Block& block : rows->batch.blocks) {
    if (block.table != schema::PmSample::id ||
        block.bytes.size() != block.rows * PackedSample::width) {
      continue;
    }
    for (std::size_t i = 0; i < block.rows; ++i) {
      const std::byte* row = block.bytes.data() + i * PackedSample::width;
      const auto start = wire::load<std::uint64_t>(row + PackedSample::start);
      const auto stop = wire::load<std::uint64_t>(row + PackedSample::stop);
      const auto part = wire::load<std::uint32_t>(row + PackedSample::part);
      auto& sums = sums_[wire::load<std::uint32_t>(row)];
      sums.resize(metrics_.size());
      for (std::size_t place = 0; place < schema::pm_values_per_row; ++place) {
        const std::size_t metric = part * schema::pm_values_per_row + place;
        const auto value = wire::load<double>(row + PackedSample::values + 8 * place);
        if (metric >= sums.size() || std::isnan(value) || stop <= start) continue;
        const auto time = static_cast<double>(stop - start);
        sums[metric].value += value * time;
        sums[metric].time += time;
      }
    }
  }
}

std::vector<std::string> LiveSamples::lines() {
  decltype(sums_) sums;
  {
    const std::lock_guard lock(mutex_);
    sums = std::exchange(sums_, {});
  }
  std::vector<std::string> lines;
  for (const auto& [device, of_device] : sums) {
    std::string line = "device " + std::to_string(device) + ":";
    for (std::size_t i = 0; i < of_device.size(); ++i) {
      if (of_device[i].time == 0) continue;
      line += (line.ends_with(':') ? " " : ", ") +
              shown(metrics_[i], of_device[i].value / of_device[i].time);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace gpuprof::app
