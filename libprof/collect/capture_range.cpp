#include "libprof/collect/capture_range.hpp"

#include <algorithm>

#include "schema/step_names.hpp"

namespace gpuprof::collect {
namespace {

// How many ranges the thread has open; its address says which thread it is.
thread_local int open_ranges = 0;
// The step that the thread is in: its number, and how many ranges were open with it. 0: none.
thread_local std::uint64_t step_here = 0;
thread_local int step_depth = 0;

}  // namespace

void CaptureRange::choose(const wire::Fields& config) {
  const std::string_view what = config.text("capture");
  what_ = what == "nvtx"     ? What::named_ranges
          : what == "step"   ? What::steps
          : what == "every"  ? What::each_step
          : what == "launch" ? What::launches
                             : What::nothing;
  from_ = config.text("capture_from");
  to_ = config.text("capture_to");
  const auto number = [&config](const char* key) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(config.integer(key, 1), 1));
  };
  first_ = number("capture_first");
  last_ = std::max(number("capture_last"), first_);
  steps_.store(0);
  launches_.store(0);
  on_.store(from_start());
}

CaptureRange::Turn CaptureRange::push(const char* message) {
  const int depth = ++open_ranges;
  if (!message) return Turn::keep;
  if (what_ == What::named_ranges) return push_named(message, &open_ranges, depth);
  if (step_here != 0 || !schema::names_a_step(message)) return Turn::keep;
  step_here = steps_.fetch_add(1) + 1;
  step_depth = depth;
  return is_chosen(step_here) && !on_.exchange(true) ? Turn::on : Turn::keep;
}

CaptureRange::Turn CaptureRange::push_named(std::string_view name, const int* thread, int depth) {
  if (on_.load()) {
    if (to_.empty() || name != to_ || last_thread_.load()) return Turn::keep;
  } else if (name != from_ || on_.exchange(true)) {
    return Turn::keep;
  } else if (!to_.empty() && to_ != from_) {
    return Turn::on;
  }
  const bool begins = !last_thread_.exchange(thread) && name == from_;
  last_depth_.store(depth);
  return begins ? Turn::on : Turn::keep;
}

CaptureRange::Turn CaptureRange::pop() {
  const int depth = open_ranges;
  if (depth == 0) return Turn::keep;
  --open_ranges;
  if (what_ == What::named_ranges) return close(&open_ranges, depth);
  if (step_here == 0 || depth != step_depth) return Turn::keep;
  const std::uint64_t ended = step_here;
  step_here = 0;
  return ends_after(ended) && on_.exchange(false) ? Turn::off : Turn::keep;
}

CaptureRange::Turn CaptureRange::close(const int* thread, int depth) {
  if (last_thread_.load() != thread || last_depth_.load() != depth) return Turn::keep;
  last_thread_.store(nullptr);
  return on_.exchange(false) ? Turn::off : Turn::keep;
}

// Switched on when the launch before has returned, so that the first one is recorded whole; and off
// when the one after the last begins.
CaptureRange::Turn CaptureRange::launch(bool begins) {
  if (begins) {
    return launches_.fetch_add(1) == last_ && on_.exchange(false) ? Turn::off : Turn::keep;
  }
  return launches_.load() + 1 == first_ && !on_.exchange(true) ? Turn::on : Turn::keep;
}

}  // namespace gpuprof::collect
