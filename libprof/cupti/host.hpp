// CUPTI's host profiling API: which metrics a chip has, how they are scheduled into passes, and
// what a counter data image says. Needs no GPU, and with CUPTI 13.0 and 13.1 no driver; where no
// CUPTI answers, what one said before is read from a file. This header needs none of CUPTI's.
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

// How counters are read, which decides which metrics there are.
enum class Counting {
  ranges,   // over kernels and ranges of the program
  samples,  // over time, of the whole device
};

enum class MetricType { counter, ratio, throughput };

struct MetricProperties {
  std::string description;
  std::string unit;       // hardware unit it is counted in: "sm", "dram" …
  std::string dimension;  // "bytes", "%" …; may be empty
  MetricType type{};
  bool device_level = false;  // of the device, and not of a context; told from 13.1 on
};

using Image = std::vector<std::uint8_t>;

// A loaded libcupti, or a file of scripts/metric_catalogue. A library stays mapped until the
// process ends; any thread.
class HostLibrary {
 public:
  // The first of these that can be loaded and has the API, or that ends with ".catalogue" and is
  // there. Throws gpuprof::Error.
  explicit HostLibrary(const std::vector<std::string>& candidates);
  ~HostLibrary();

  // Names as in GH100. In CUPTI's order.
  std::vector<std::string> chips() const;
  // Sets of metrics that fit into one pass, for samples, and what is in one; from CUDA 13.2 on.
  // Throw gpuprof::Error for a chip or set that CUPTI does not know, and where it has none.
  std::vector<std::string> single_pass_sets(const std::string& chip) const;
  std::vector<std::string> metrics_in_set(const std::string& chip, const std::string& set) const;
  // How many metrics that the hardware counts fit into a pass at best. Throws gpuprof::Error.
  std::size_t most_per_pass(const std::string& chip, Counting counting) const;
  const Api& api() const { return *api_; }
  std::string path() const;
  // Null: a libcupti answers.
  const RecordedMetrics* recorded() const { return recorded_.get(); }

 private:
  std::unique_ptr<Api> api_;
  std::unique_ptr<const RecordedMetrics> recorded_;
};

// The metrics of one chip. Belongs to one thread at a time.
class HostChip {
 public:
  // `available`: what a device says it can count; empty: what its chip can. Throws gpuprof::Error
  // for a chip that CUPTI does not know. `set`: a single-pass set, which all metrics are of; none:
  // empty.
  HostChip(std::shared_ptr<const HostLibrary> library, std::string chip,
           Counting counting = Counting::ranges, Image available = {}, std::string set = {});
  ~HostChip();
  HostChip(const HostChip&) = delete;
  HostChip& operator=(const HostChip&) = delete;

  const std::string& name() const { return chip_; }
  Counting counting() const { return counting_; }

  // Names without roll-up or sub-metric.
  std::vector<std::string> base_metrics(MetricType type) const;
  // What can stand behind a base metric, the dot in front included: ".sum", ".avg.per_second" …
  std::vector<std::string> sub_metrics(const std::string& base, MetricType type) const;
  // Of a name with or without what stands behind; nothing: there is no such metric.
  std::optional<MetricProperties> properties(const std::string& name) const;

  // Whether CUPTI can collect each of these, by their full names.
  bool can_collect(std::span<const std::string> metrics) const;

  // Nobody but CUPTI knows what follows: where it is a file that answers (is_recorded()), these
  // throw gpuprof::Error with what would answer.
  bool is_recorded() const { return library_->recorded() != nullptr; }

  // The configuration that collects these metrics, by their full names; nothing: CUPTI cannot.
  std::optional<Image> config_image(std::span<const std::string> metrics) const;
  // How often a kernel has to run to collect all that a configuration asks for.
  std::size_t passes(Image& config_image) const;

  // How many ranges a decoded counter data image has; 0 also for what is no image.
  std::size_t ranges(std::span<const std::uint8_t> counter_data) const;

  // The values of a range or sample of a decoded counter data image, in the order of `metrics`; NaN
  // where there is none. false: CUPTI refused the image or a name.
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
