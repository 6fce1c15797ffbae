// One CUDA context whose launches are measured: its session with CUPTI, the policy that decides,
// and results not yet sent.
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
#include "libprof/collect/green_contexts.hpp"
#include "libprof/collect/launch_selection.hpp"
#include "libprof/collect/pass_images.hpp"
#include "libprof/collect/policy.hpp"
#include "libprof/collect/range_session.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::collect {

// State shared by all contexts of the process. Any thread.
struct Measuring {
  CheckedApi& cupti;
  Channel& channel;
  const wire::CollectConfig config;
  // Passes a message to the user, as a field of an info frame.
  const std::function<void(std::string_view what, std::string_view text)> tell;
  Budget budget;

  struct Counts {
    std::atomic<std::uint64_t> launches{0}, ranges{0}, dropped{0}, graph{0}, excluded{0},
        capture{0}, failed{0};
  };
  Counts counts{};
  GreenContexts green{};
  std::atomic<bool> part_unknown{false};  // of a green context, which the user learns once
};

// Names by their index in a list, from 1.
class NameList {
 public:
  // 0 for null.
  std::uint32_t number_of(const char* name);
  const std::vector<std::string>& names() const { return names_; }
  void clear();

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

// Used under `mutex`, except for members marked as safe for any thread. The first unexpected CUPTI
// result ends measuring in this context.
class RangeContext {
 public:
  // `number`: wire::CounterData::context_number.
  RangeContext(Measuring& measuring, CUcontext context, std::uint32_t device, std::uint32_t number);

  const CUcontext handle;
  const std::uint32_t device;
  const std::uint32_t id;               // CUPTI's
  std::timed_mutex mutex;               // held throughout a measured launch
  std::atomic<bool> dead{false};        // any thread, like the next four
  std::atomic<bool> overlapped{false};  // another launch got in between
  std::atomic<std::uint64_t> range{0};  // the last range of the program that it took part in
  std::atomic<bool> had_graph{false};   // a graph was launched in that range
  Watch watch;
  bool over = false;  // nothing more is measured
  bool failed() const { return failed_.load(std::memory_order_relaxed); }

  Shapes& shapes() { return shapes_; }
  Policy& policy() { return *policy_; }
  bool open() const { return session_.open(); }
  Window window() const { return {group_, session_.enabled(), session_.open()}; }
  const wire::CollectGroup& group() const;  // the last one measured

  // Called for each launch, measured or not.
  void launched();
  // Lists the launch, for later runs to be joined with.
  void list(const Launch& launch, std::uint32_t correlation);
  void send_list();
  std::uint32_t stream_id(const Launch& launch);

  // Whether a window whose passes are those of several launches waits for another launch of the
  // same shape. If that has not come for long, the window is given up.
  bool lacks_passes();
  // What such a window measures: launches of its shape.
  Decision next_pass(const Shape& shape) const {
    return {&shape == shape_ ? group_ : Decision::nothing};
  }

  // Measures in this group from now on, whatever that requires. false: failed.
  bool begin(int group);
  // Learns what a green context made from this one has of the device, by beginning to measure in
  // it; only once. Both use CUPTI's only profiler object on a device: what is being measured here
  // is released.
  void learn_part(CUcontext green, std::uint32_t green_id, int group);
  // Stops, and keeps the image: further ranges are appended to it. But if there are several passes,
  // CUPTI takes the next Start for the next pass: then further ranges get a separate image.
  void suspend();
  // Stops, and sends the results.
  void close();
  // The same, and releases the profiler object.
  void release();
  // The same, even after failures. Nothing may follow.
  void leave();
  // Sends old results, in case the target is killed before the window is full.
  void send_old();

  // A launch in an open window; and its end, if it did launch. `part`: what it runs on; null: the
  // whole device. `last`: no launch follows.
  void launch_begins(const Launch& launch, std::uint32_t correlation, Shape& shape, bool asked_for,
                     GreenContexts::Part part);
  void launch_ends(bool worked, bool last);
  // The program's own ranges.
  void range_begins(std::uint64_t number, const char* name);
  void range_ends();

 private:
  bool fail(std::string why);
  bool configure(int group);
  void add_row();
  void forget_rows();
  void pass_ends(bool worked);
  void give_up_passes();
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

  int group_ = -1;                          // the last one measured; -1: none yet
  std::uint64_t ordinal_ = 0;               // launches so far
  std::vector<wire::MeasuredRange> rows_;   // of the image
  std::vector<GreenContexts::Part> parts_;  // of rows_
  std::int64_t first_row_ns_ = 0;           // when the first of rows_ arrived
  NameList names_;                          // of rows_
  wire::MeasuredRange current_;             // the launch or range being measured
  GreenContexts::Part current_part_;
  Shape* shape_ = nullptr;                 // of that launch
  std::uint32_t passes_ = 0;               // of a window that takes several launches, so far
  bool pushed_ = false;                    // a range is open
  std::vector<wire::MeasuredRange> list_;  // launches not sent yet, measured or not
  NameList list_names_;
};

}  // namespace gpuprof::collect
