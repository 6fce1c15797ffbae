// A libcupti's answers about the metrics of all chips, from the file that scripts/metric_catalogue
// writes: for machines where no libcupti answers.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/cupti/host.hpp"

namespace gpuprof::cupti {

// Any thread.
class RecordedMetrics {
 public:
  // Throws gpuprof::Error if it is not such a file.
  explicit RecordedMetrics(const std::string& path);

  const std::vector<std::string>& chips() const { return chips_; }
  bool has_chip(std::string_view chip) const { return mask_of(chip) != 0; }

  // As in HostChip.
  std::vector<std::string> base_metrics(std::string_view chip, Counting counting,
                                        MetricType type) const;
  std::vector<std::string> sub_metrics(std::string_view chip, Counting counting,
                                       std::string_view base, MetricType type) const;
  std::optional<MetricProperties> properties(std::string_view chip, Counting counting,
                                             std::string_view name) const;
  bool can_collect(std::string_view chip, Counting counting, std::string_view name) const;

 private:
  using Mask = std::uint64_t;  // a bit for each chip
  struct Row {
    MetricProperties properties;
    std::array<Mask, 2> chips{};  // by Counting
  };

  void read_line(std::string_view line);
  Mask mask_of(std::string_view chip) const;
  const Row* find(std::string_view chip, Counting counting, std::string_view base) const;

  std::vector<std::string> chips_;
  std::array<std::vector<std::string>, 3> subs_;  // by MetricType
  std::multimap<std::string, Row, std::less<>> metrics_;
  std::map<std::string, Mask, std::less<>>
      lacking_;  // full names, with the chips that cannot collect them
};

}  // namespace gpuprof::cupti
