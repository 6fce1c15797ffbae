// Implementation of gpuprof_pm and gpuprof_samples: PM sampling for programs in other languages.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "libprof/c_api/gpuprof.h"
#include "libprof/c_api/guard.hpp"
#include "libprof/counters/consumer.hpp"

struct gpuprof_samples {
  gpuprof::counters::TakenSamples taken;
};

struct gpuprof_pm : public gpuprof::c_api::Guard {
 public:
  gpuprof_pm() = default;
  gpuprof_pm(const gpuprof_pm&) = delete;
  gpuprof_pm& operator=(const gpuprof_pm&) = delete;

  int open(const char* request);
  int configure(const char* request);
  int start(std::int64_t ring);
  int stop();
  void wait(std::int64_t milliseconds);
  int take(std::int64_t most, gpuprof_samples** samples);
  int image_bytes(const char* metrics, std::int64_t samples, std::int64_t* bytes);
  int state(const char** text);

 private:
  gpuprof::counters::Consumer& consumer() const;

  std::unique_ptr<gpuprof::counters::Consumer> consumer_;
  std::string text_;
};
