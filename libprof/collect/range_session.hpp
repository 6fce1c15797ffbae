// CUPTI's range profiler in one context: a profiler object with a configuration, windows between
// Start and Stop, and the image that CUPTI writes counters to. Knows CUPTI, and nothing of what is
// measured why.
//
// One thread at a time. Each step says whether it worked; where it did not, why() does, and nothing
// more may be asked of the session.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libprof/collect/checked_api.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

// Of the monotonic clock.
std::int64_t now_ns();

// What a context is at, for the thread that watches: since when, and with what. Any thread.
class Watch {
 public:
  void begin(const char* what) {
    with_.store(what, std::memory_order_relaxed);
    since_.store(now_ns(), std::memory_order_release);
  }
  // Since when it was.
  std::int64_t end() { return since_.exchange(0, std::memory_order_acq_rel); }

  // ns; 0: nothing is going on.
  std::int64_t since() const { return since_.load(std::memory_order_acquire); }
  const char* with() const { return with_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> since_{0};
  std::atomic<const char*> with_{nullptr};
};

class RangeSession {
 public:
  struct Settings {
    bool user_ranges = false;    // ranges are pushed and popped; otherwise each launch is one
    bool kernel_replay = false;  // CUPTI repeats each launch for all passes
    bool reset_caches = false;   // before each of these
  };

  RangeSession(CheckedApi& cupti, CUcontext context, Settings settings, Watch& watch)
      : cupti_(cupti), context_(context), settings_(settings), watch_(watch) {}

  bool enabled() const { return object_ != nullptr; }
  bool configured() const { return configured_; }
  bool open() const { return open_; }  // between start and stop
  const std::string& why() const { return why_; }

  // A profiler object. CUPTI keeps the first configuration that one was started with, whatever it
  // is told: another takes another object.
  bool enable();
  bool disable();
  // An image for that many ranges of this group, or for as many as one of bearable size holds.
  // `number`: by which the session knows the group again.
  bool prepare(int number, const wire::CollectGroup& group, std::uint32_t ranges);
  // The next image of that group is made anew.
  void forget_image(int number) { fresh_images_.erase(number); }
  // With the image as it is now: it may come from an earlier pass.
  bool configure(const wire::CollectGroup& group);
  // Before the next window CUPTI is to be configured again.
  void unconfigure() { configured_ = false; }

  bool start();
  bool stop();
  // What is open is not stopped any more.
  void abandon() { open_ = false; }
  bool push(const char* range);
  bool pop();
  // Puts what was counted into the image. Nothing: it failed; else how many ranges CUPTI dropped.
  std::optional<std::uint64_t> decode();

  std::vector<std::uint8_t>& image() { return image_; }
  std::uint32_t ranges() const { return ranges_; }  // that the image holds

 private:
  struct FreshImage {
    std::vector<std::uint8_t> bytes;  // as CUPTI initialised them
    std::uint32_t ranges = 0;
  };

  bool call(const char* function, CUptiResult result);

  CheckedApi& cupti_;
  const CUcontext context_;
  const Settings settings_;
  Watch& watch_;
  CUpti_RangeProfiler_Object* object_ = nullptr;
  bool configured_ = false;
  bool open_ = false;
  std::map<int, FreshImage> fresh_images_;  // by group
  std::vector<std::uint8_t> image_;
  std::uint32_t ranges_ = 0;
  std::string why_;
};

}  // namespace gpuprof::collect
