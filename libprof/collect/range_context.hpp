// One CUDA context whose launches are measured: its session with CUPTI, the policy that decides,
// and what was measured and not sent yet.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/launch_selection.hpp"
#include "libprof/collect/pass_images.hpp"
#include "libprof/collect/policy.hpp"
#include "libprof/collect/range_session.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

// What all contexts of the process have in common. Any thread.
struct Measuring {
  CheckedApi& cupti;
  Channel& channel;
  const wire::CollectConfig config;
  // Passes on what the user is to know: a field of an info frame.
  const std::function<void(std::string_view what, std::string_view text)> tell;
  Budget budget;

  struct Counts {
    std::atomic<std::uint64_t> launches{0}, ranges{0}, dropped{0}, graph{0}, excluded{0},
        capture{0}, failed{0};
  };
  Counts counts{};
};

// Names by their place in a list, from 1.
class NameList {
 public:
  // 0 for none.
  std::uint32_t number_of(const char* name);
  const std::vector<std::string>& names() const { return names_; }
  void clear();

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// Under `mutex`, but for what is said to be for any thread. The first unexpected answer of CUPTI's
// ends measuring in this context.
class RangeContext {
 public:
  // `number`: wire::CounterData::context_number.
  RangeContext(Measuring& measuring, CUcontext context, std::uint32_t device, std::uint32_t number);

  const CUcontext handle;
  const std::uint32_t device;
  const std::uint32_t id;               // CUPTI's
  std::timed_mutex mutex;               // held through a measured launch
  std::atomic<bool> dead{false};        // any thread, as the next four
  std::atomic<bool> overlapped{false};  // a launch got in between
  std::atomic<std::uint64_t> range{0};  // the program's own one that it took part in last
  std::atomic<bool> had_graph{false};   // was launched in it
  Watch watch;
  bool over = false;  // nothing is measured any more
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  Shapes& shapes() { return shapes_; }
  Policy& policy() { return *policy_; }
  bool open() const { return session_.open(); }
  Window window() const { return {group_, session_.enabled(), session_.open()}; }
  const wire::CollectGroup& group() const;  // the last that was measured

  // A launch, measured or not.
  void launched();
  // For later runs to be joined with.
  void list(const Launch& launch, std::uint32_t correlation);
  void send_list();
  std::uint32_t stream_id(const Launch& launch);

  // Measures in this group from here on, whatever it takes. false: it does not work.
  bool begin(int group);
  // Stops, and keeps the image: ranges that follow go behind those it has. But where there are
  // several passes, CUPTI takes the next Start for the next pass: what follows gets an image of its
  // own.
  void suspend();
  // Stops, and sends what there is.
  void close();
  // The same, and gives the profiler object up.
  void release();
  // The same, whatever has failed. Nothing follows.
  void leave();
  // Sends what is old, for a target that is killed before the window is full.
  void send_old();

  // A launch while a window is open; and its end, where it has become one. `last`: none follow.
  void launch_begins(const Launch& launch, std::uint32_t correlation, Shape& shape, bool asked_for);
  void launch_ends(bool worked, bool last);
  // One of the program's own ranges.
  void range_begins(std::uint64_t number, const char* name);
  void range_ends();

 private:
  bool fail(std::string why);
  bool configure(int group);
  void send_window(std::uint64_t dropped);
  void send(std::uint32_t group, wire::CounterData& data);
  std::int64_t cupti_now();

  Measuring& measuring_;
  const std::uint32_t number_;
  Shapes shapes_;
  const std::unique_ptr<Policy> policy_;
  RangeSession session_;
  PassImages images_;
  std::atomic<bool> failed_{false};

  int group_ = -1;                         // the last that was measured; -1: none yet
  std::uint64_t ordinal_ = 0;              // launches so far
  std::vector<wire::MeasuredRange> rows_;  // of the image
  std::int64_t first_row_ns_ = 0;          // when the first of them came
  NameList names_;                         // of the rows
  wire::MeasuredRange current_;            // the launch, or range, that is being measured
  Shape* shape_ = nullptr;                 // of that launch
  bool pushed_ = false;                    // a range is open
  std::vector<wire::MeasuredRange> list_;  // launches not sent yet, measured or not
  NameList list_names_;
};

}  // namespace gpuprof::collect
