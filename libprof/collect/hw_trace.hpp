// Turns hardware tracing on, if it was asked for and can be had. CUPTI may refuse at once, when the
// driver is up, or while the program runs; it then goes on to trace in software. What is used goes
// to the launcher.
#pragma once

#include <cupti.h>

#include <atomic>
#include <string>
#include <string_view>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

// Any thread after choose().
class HwTrace {
 public:
  HwTrace(CheckedApi& cupti, Stream& stream) : cupti_(cupti), stream_(stream) {}

  // Applies the launcher's config. `contexts_exist`: too late.
  void choose(const wire::Fields& config, bool contexts_exist);
  // Whether driver_is_up() and take() are wanted.
  bool listens() const { return mode_ != Mode::off; }
  // The driver is up, and there is no context yet. From CUPTI's callback.
  void driver_is_up();
  // CUPTI reports an error that it survives. Returns whether it is about hardware tracing.
  bool take(const CUpti_StateData& state);

 private:
  enum class Mode { off, on, automatic };

  // What is known against it on the first device that has an objection; empty: nothing.
  std::string objection() const;
  // Calls CUPTI; false: the driver is not up yet.
  bool enable();
  void use(bool on, std::string_view why = {});

  CheckedApi& cupti_;
  Stream& stream_;
  Mode mode_ = Mode::off;
  std::atomic<bool> waits_{false};  // for the driver
  std::atomic<bool> on_{false};     // for the process: CUPTI cannot turn it off again
};

}  // namespace gpuprof::collect
