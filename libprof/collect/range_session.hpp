// CUPTI's range profiler in one context: a profiler object with a configuration, windows between
// Start and Stop, and the image to which CUPTI writes counters. Deals with CUPTI only, not with
// what is measured or why.
//
// One thread at a time. Each step returns whether it worked; if not, why() has the reason, and the
// session must not be used any further.
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

// The monotonic clock, in ns.
std::int64_t now_ns();

// What a context is doing and since when, for the watching thread. Any thread.
class Watch {
 public:
  void begin(const char* what) {
    with_.store(what, std::memory_order_relaxed);
    since_.store(now_ns(), std::memory_order_release);
  }
  // Returns when it began.
  std::int64_t end() { return since_.exchange(0, std::memory_order_acq_rel); }

  // ns; 0: idle.
  std::int64_t since() const { return since_.load(std::memory_order_acquire); }
  const char* with() const { return with_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> since_{0};
  std::atomic<const char*> with_{nullptr};
};

class RangeSession {
 public:
  struct Settings {
    bool user_ranges = false;    // ranges are pushed and popped; otherwise one per launch
    bool kernel_replay = false;  // CUPTI repeats each launch for all passes
    bool reset_caches = false;   // before each pass
  };

  RangeSession(CheckedApi& cupti, CUcontext context, Settings settings, Watch& watch)
      : cupti_(cupti), context_(context), settings_(settings), watch_(watch) {}

  bool enabled() const { return object_ != nullptr; }
  bool configured() const { return configured_; }
  bool open() const { return open_; }  // between start and stop
  const std::string& why() const { return why_; }

  // Creates a profiler object. CUPTI keeps the first configuration an object was started with,
  // whatever it is set to later: another configuration requires another object.
  bool enable();
  bool disable();
  // Makes an image for that many ranges of this group, or as many as fit in an image of tolerable
  // size. `number`: identifies the group within the session.
  bool prepare(int number, const wire::CollectGroup& group, std::uint32_t ranges);
  // The next image of that group is rebuilt.
  void forget_image(int number) { fresh_images_.erase(number); }
  // Uses the image as it is now: it may come from an earlier pass.
  bool configure(const wire::CollectGroup& group);
  // CUPTI must be configured again before the next window.
  void unconfigure() { configured_ = false; }

  bool start();
  // After start(): what the context has of its device, as CUPTI's host API takes it. Empty: all of
  // it, or CUPTI is older than 13.3.
  std::vector<std::uint8_t> partition() const;
  bool stop();
  // An open window is no longer stopped.
  void abandon() { open_ = false; }
  bool push(const char* range);
  bool pop();
  // Puts the counts into the image. Returns how many ranges CUPTI dropped, or nullopt if it failed.
  std::optional<std::uint64_t> decode();

  std::vector<std::uint8_t>& image() { return image_; }
  std::uint32_t ranges() const { return ranges_; }  // capacity of the image

 private:
  struct FreshImage {
    std::vector<std::uint8_t> bytes;  // as initialized by CUPTI
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
