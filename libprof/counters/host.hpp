// Implementation of gpuprof_host: a chip's metrics for programs in other languages.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "libprof/c_api/gpuprof.h"
#include "libprof/c_api/guard.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/metrics/sample_values.hpp"

namespace gpuprof::counters {

// Paths where this library looks for libcupti, in order. If `chosen` is not empty, it is the only
// one.
std::vector<std::string> cupti_candidates(const std::string& chosen);

// Parses a JSON array of strings. Throws Error.
std::vector<std::string> read_names(const char* json);

}  // namespace gpuprof::counters

struct gpuprof_host : public gpuprof::c_api::Guard {
 public:
  gpuprof_host() = default;
  gpuprof_host(const gpuprof_host&) = delete;
  gpuprof_host& operator=(const gpuprof_host&) = delete;

  int open(const char* request);
  int ask(const char* request, const char** text);
  int config_image(const char* metrics, const std::uint8_t** image, std::int64_t* size);
  int passes(const std::uint8_t* image, std::int64_t size, std::int64_t* passes);
  int evaluate(const std::uint8_t* image, std::int64_t size, const std::int64_t* places,
               std::int64_t count, const char* metrics, double* values);

 private:
  const gpuprof::cupti::HostChip& chip() const;

  std::shared_ptr<const gpuprof::cupti::HostLibrary> library_;
  std::unique_ptr<gpuprof::metrics::SampleValues> values_;  // null: no chip was named
  std::string text_;
  gpuprof::cupti::Image image_;
};
