#include "libprof/metrics/sample_values.hpp"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::metrics {
namespace {

constexpr std::size_t most_threads = 4;
// Fewer samples do not justify another thread with a separate chip object.
constexpr std::size_t least_per_thread = 1000;

[[noreturn]] void throw_refused(const cupti::HostChip& chip, std::span<const std::string> metrics) {
  for (const std::string& name : metrics) {
    if (chip.properties(name)) continue;
    throw Error(chip.name() + " has no metric " + name, "gpuprof --query-metrics lists them",
                ExitCode::bad_option);
  }
  throw Error(
      "CUPTI refuses the counter data image, or there is no such sample in it, or a metric "
      "lacks its roll-up (.sum, .avg …)",
      "", ExitCode::no_metrics);
}

}  // namespace

std::shared_mutex& reading_values() {
  static std::shared_mutex mutex;
  return mutex;
}

SampleValues::SampleValues(std::shared_ptr<const cupti::HostLibrary> library, std::string chip,
                           cupti::Counting counting, cupti::Image available, std::string set)
    : library_(std::move(library)),
      counting_(counting),
      available_(std::move(available)),
      set_(std::move(set)) {
  chips_.push_back(
      std::make_unique<cupti::HostChip>(library_, std::move(chip), counting_, available_, set_));
}

void SampleValues::evaluate(std::span<const std::uint8_t> image,
                            std::span<const std::int64_t> samples,
                            std::span<const std::string> metrics, double* values) {
  if (samples.empty() || metrics.empty()) return;
  std::vector<const char*> names;
  for (const std::string& metric : metrics) names.push_back(metric.c_str());
  const std::size_t threads =
      std::clamp(samples.size() / least_per_thread, std::size_t{1},
                 std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most_threads));
  while (chips_.size() < threads) {
    chips_.push_back(std::make_unique<cupti::HostChip>(library_, chips_.front()->name(), counting_,
                                                       available_, set_));
  }
  std::atomic<bool> refused = false;
  const auto part = [&](std::size_t number) noexcept {
    const std::shared_lock lock(reading_values());
    const std::size_t end = samples.size() * (number + 1) / threads;
    for (std::size_t i = samples.size() * number / threads; i < end && !refused; ++i) {
      if (samples[i] < 0 || !chips_[number]->evaluate(image, static_cast<std::size_t>(samples[i]),
                                                      names, values + i * names.size())) {
        refused = true;
      }
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < threads; ++i) others.emplace_back(part, i);
  part(0);
  for (std::thread& other : others) other.join();
  if (refused) throw_refused(*chips_.front(), metrics);
}

}  // namespace gpuprof::metrics
