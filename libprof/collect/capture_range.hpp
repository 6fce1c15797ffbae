// Which part of a run is recorded, by what the program does: ranges of NVTX, steps, or launches.
// --capture-range.
//
// choose() on one thread, before others ask; the rest on any thread, without locks and memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "libprof/wire/codec.hpp"

namespace gpuprof::collect {

class CaptureRange {
 public:
  // From the launcher's config, where "capture" is
  //   nvtx    ranges named "capture_from", up to the end of the next one named "capture_to" if set
  //   step    steps number "capture_first" to "capture_last", counted from 1
  //   every   each step whose number is a multiple of "capture_first"
  //   launch  launches number "capture_first" to "capture_last"
  void choose(const wire::Fields& config);
  bool by_ranges() const { return what_ != What::nothing && what_ != What::launches; }
  bool by_launches() const { return what_ == What::launches; }
  bool from_start() const { return by_launches() && first_ == 1; }

  // What to do about tracing.
  enum class Turn { keep, on, off };
  // The thread opens a range of push and pop, or closes its innermost one.
  Turn push(const char* message);
  Turn pop();
  // A launch begins or has returned.
  Turn launch(bool begins);

 private:
  enum class What { nothing, named_ranges, steps, each_step, launches };

  bool is_chosen(std::uint64_t step) const {
    return what_ == What::each_step ? step % first_ == 0 : step == first_;
  }
  bool ends_after(std::uint64_t step) const {
    return what_ == What::each_step ? step % first_ == 0 : step == last_;
  }
  Turn push_named(std::string_view name, const int* thread, int depth);
  Turn close(const int* thread, int depth);

  What what_ = What::nothing;
  std::string from_, to_;
  std::uint64_t first_ = 1, last_ = 1;
  std::atomic<std::uint64_t> steps_{0}, launches_{0};
  std::atomic<bool> on_{false};
  // The range with whose end the part ends: its thread, null until it is open, and its depth there.
  std::atomic<const int*> last_thread_{nullptr};
  std::atomic<int> last_depth_{0};
};

}  // namespace gpuprof::collect
