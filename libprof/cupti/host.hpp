// CUPTI's host profiling API: which metrics a chip has, how they are scheduled into passes, and
// what a counter data image contains. Requires no GPU, and with CUPTI up to 13.1 no driver;
// where no CUPTI answers, recorded answers are read from a file. This header requires no CUPTI
// header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gpuprof::cupti {

struct Api;
class RecordedMetrics;

// How counters are read, which determines the available metrics.
enum class Counting {
  ranges,   // over kernels and ranges of the program
  samples,  // over time, of the whole device
};

enum class MetricType { counter, ratio, throughput };

struct MetricProperties {
  std::string description;
  std::string unit;       // hardware unit that counts it: "sm", "dram" …
  std::string dimension;  // "bytes", "%" …; may be empty
  MetricType type{};
  bool device_level = false;  // of the device rather than a context; reported from 13.1 on
};

using Image = std::vector<std::uint8_t>;

// A loaded libcupti, or a file written by scripts/metric_catalogue. A library stays mapped until
// the process ends. Any thread.
class HostLibrary {
 public:
  // Uses the first candidate that can be loaded and has the API, or that ends with ".catalogue" and
  // exists. Throws gpuprof::Error.
  explicit HostLibrary(const std::vector<std::string>& candidates);
  ~HostLibrary();

  // CUPTI's names, such as GH100, in CUPTI's order.
  std::vector<std::string> chips() const;
  // Sets of metrics that fit into one pass, for samples, and the metrics in one; from CUDA 13.2 on.
  // Throw gpuprof::Error for a chip or set unknown to CUPTI, and if there are no sets.
  std::vector<std::string> single_pass_sets(const std::string& chip) const;
  std::vector<std::string> metrics_in_set(const std::string& chip, const std::string& set) const;
  // The maximum number of hardware-counted metrics in a pass. Throws gpuprof::Error.
  std::size_t most_per_pass(const std::string& chip, Counting counting) const;
  const Api& api() const { return *api_; }
  std::string path() const;
  // Null: a libcupti answers.
  const RecordedMetrics* recorded() const { return recorded_.get(); }

 private:
  std::unique_ptr<Api> api_;
  std::unique_ptr<const RecordedMetrics> recorded_;
};

// The metrics of one chip. Used by one thread at a time.
class HostChip {
 public:
  // `available`: what a device says it can count; empty: what its chip can. `set`: a single-pass
  // set that contains all metrics; empty: none. Throws gpuprof::Error for a chip unknown to CUPTI.
  HostChip(std::shared_ptr<const HostLibrary> library, std::string chip,
           Counting counting = Counting::ranges, Image available = {}, std::string set = {});
  ~HostChip();
  HostChip(const HostChip&) = delete;
  HostChip& operator=(const HostChip&) = delete;

  const std::string& name() const { return chip_; }
  Counting counting() const { return counting_; }

  // Names without roll-up or sub-metric.
  std::vector<std::string> base_metrics(MetricType type) const;
  // The suffixes a base metric can have, including the leading dot: ".sum", ".avg.per_second" …
  std::vector<std::string> sub_metrics(const std::string& base, MetricType type) const;
  // For a name with or without suffix; nullopt: there is no such metric.
  std::optional<MetricProperties> properties(const std::string& name) const;

  // Whether CUPTI can collect each of these, given their full names.
  bool can_collect(std::span<const std::string> metrics) const;

  // Only CUPTI knows what follows: if the answers come from a file (is_recorded()), these throw
  // gpuprof::Error with a hint at what would answer.
  bool is_recorded() const { return library_->recorded() != nullptr; }

  // The configuration that collects these metrics, given their full names; nullopt: CUPTI cannot.
  std::optional<Image> config_image(std::span<const std::string> metrics) const;
  // How often a kernel must run to collect everything in a configuration.
  std::size_t passes(Image& config_image) const;

  // Values are those of this part of the device from now on, and NaN for units outside of
  // multiprocessors; what the target's CUPTI said of a green context. false: CUPTI refuses, or is
  // older than 13.3.
  bool set_partition(std::span<const std::uint8_t> info);

  // The number of ranges in a decoded counter data image; 0 also for an invalid image.
  std::size_t ranges(std::span<const std::uint8_t> counter_data) const;

  // The values of a range or sample of a decoded counter data image, in the order of `metrics`; NaN
  // for missing ones. false: CUPTI refused the image or a name.
  bool evaluate(std::span<const std::uint8_t> counter_data, std::size_t range,
                std::span<const char* const> metrics, double* values) const;

 private:
  struct Object;  // a host object, released at the end

  std::shared_ptr<const HostLibrary> library_;
  std::string chip_;
  Counting counting_;
  Image available_;
  std::string set_;
  std::unique_ptr<Object> object_;
};

}  // namespace gpuprof::cupti
