// How a device spent its time: a sweep over its work.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/gpu_work.hpp"

namespace gpuprof::compute {

// A period without work, and the work before and after it.
struct Gap {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  GpuWork before, behind;

  std::int64_t length() const { return end - begin; }
};

// Memory: the work running at a time, some streams, and the longest gaps.
class DeviceTime {
 public:
  static constexpr std::size_t most_gaps = 10'000;

  // `each_gap` receives all gaps, in time order; it may be empty.
  explicit DeviceTime(std::function<void(const Gap&)> each_gap = {})
      : each_gap_(std::move(each_gap)) {}
  DeviceTime(DeviceTime&&) = default;

  // In start order.
  void add(const GpuWork& work);
  // Call when all work has been added.
  void finish();

  std::int64_t first() const { return first_; }
  std::int64_t last() const { return now_; }
  std::int64_t kernels_only() const { return kernels_only_; }
  std::int64_t copies_only() const { return copies_only_; }
  std::int64_t both() const { return both_; }
  // Part of kernels_only() in which no kernel ran except communication kernels.
  std::int64_t exposed_communication() const { return exposed_communication_; }
  std::int64_t busy() const { return kernels_only_ + copies_only_ + both_; }
  std::int64_t gap_count() const { return gap_count_; }
  // Time in ns, by the number of streams at work.
  std::map<std::int64_t, std::int64_t> streams() const;
  // By direction (CUpti_ActivityMemcpyKind).
  struct Copies {
    std::int64_t copying = 0;         // time with any copy running, ns
    std::int64_t beside_kernels = 0;  // part of it with kernels or graphs running too, ns
    std::int64_t running = 0;
  };
  const std::map<std::int16_t, Copies>& copies() const { return directions_; }
  // What the device did, by precedence: of kernels and graphs those that compute come before those
  // that communicate, then copies, with the lowest direction first, then sets and the like. These
  // parts do not overlap, and busy() is their sum.
  enum class Activity : std::uint8_t { compute, communication, copy, set };
  struct Part {
    std::int64_t duration = 0;   // ns
    std::int64_t intervals = 0;  // uninterrupted
  };
  using Doing = std::pair<Activity, std::int16_t>;  // and of a copy, its direction
  using Parts = std::map<Doing, Part>;
  // Since the last call. Call in `each_gap` or after finish().
  Parts take_parts();
  // The longest gaps, in time order.
  std::vector<Gap> gaps() const;

 private:
  using Streams = std::unordered_map<GpuStream, std::int64_t, GpuStreamHash>;
  // Streams without running work that are kept, as most soon have some again.
  static constexpr std::size_t most_idle_streams = 4096;

  struct Running {
    std::int64_t end;
    Streams::value_type* stream;
    bool computes, communicates;
    std::int16_t direction;                                                 // of a copy
    bool operator<(const Running& other) const { return end > other.end; }  // earliest end on top
  };

  void pass_until(std::int64_t time);  // retires work that ends by then
  void step(std::int64_t time);
  // Adds to the part of what is running; nothing may be.
  void account(std::int64_t passed);
  Doing doing() const;  // something is running
  void end_part();
  void keep(const Gap& gap);

  std::function<void(const Gap&)> each_gap_;
  std::priority_queue<Running> running_;
  // Number running; communication kernels are also counted as kernels.
  std::int64_t kernels_ = 0, communication_ = 0, copies_ = 0;
  std::map<std::int16_t, Copies> directions_;
  Streams streams_;                               // number running per stream
  Streams::value_type* latest_stream_ = nullptr;  // of the latest work; null: it is not known
  std::size_t at_work_ = 0;                       // streams with running work
  std::int64_t now_ = 0;
  bool begun_ = false;
  GpuWork last_ended_;  // the work with the latest end so far
  std::int64_t first_ = 0;
  std::int64_t kernels_only_ = 0, copies_only_ = 0, both_ = 0;
  std::int64_t exposed_communication_ = 0;
  std::int64_t gap_count_ = 0;
  std::vector<std::int64_t> by_streams_;  // by their number
  std::vector<Gap> gaps_;                 // a min-heap by length
  Parts parts_;
  bool rests_ = true;  // nothing was running
  Doing counted_{};    // what part_ is of, and is not yet in parts_
  Part part_;
};

}  // namespace gpuprof::compute
