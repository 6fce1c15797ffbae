// Turns what collectors measured into values for the recorder.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libprof/cupti/host.hpp"
#include "libprof/metrics/evaluator.hpp"
#include "libprof/metrics/launch_table.hpp"
#include "libprof/metrics/means.hpp"
#include "libprof/metrics/processes.hpp"
#include "libprof/metrics/run_plan.hpp"
#include "libprof/metrics/value_rows.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::metrics {

// Used on the loading thread; between runs, when that has ended, on the main thread.
class Evaluation {
 public:
  // Sends configuration to the collector of a stream.
  using TellCollector = std::function<void(std::uint32_t stream, const wire::Fields& fields)>;

  // `plan` and `launches` must outlive this.
  Evaluation(std::shared_ptr<const cupti::HostLibrary> library, const RunPlan& plan,
             LaunchTable& launches)
      : library_(std::move(library)), plan_(plan), launches_(launches) {}

  void set_tell_collector(TellCollector tell) { tell_collector_ = std::move(tell); }

  // `again`: this run repeats the previous one.
  void begin_run(bool again);
  // What the recorder gets for a process's frame: the frame itself, its values, or nothing. Throws
  // wire::StreamError if the frame makes no sense.
  std::vector<wire::Frame> take(wire::Frame frame, const Processes::Place& from);

  // Launches of later runs that differ from those of the first; and ranges measured.
  std::uint64_t mismatched() const { return mismatched_; }
  std::uint64_t ranges() const { return ranges_; }
  // Metrics that no range has a number for: the device does not count what its chip could.
  std::vector<std::string> without_numbers() const;

 private:
  // Without a partition: the whole device. Null: CUPTI does not take the partition.
  const cupti::HostChip* chip_of(const PlannedGroup& group, std::uint32_t process,
                                 std::uint32_t device, const wire::Partition* partition = nullptr);
  // Marks ranges that an earlier attempt has delivered as unwanted.
  void leave_out_known(std::uint32_t process, wire::CounterData& data);
  void note_numbers(const MeasuredValues& values, const GroupMetrics& group);
  void tell_what_is_known(std::uint32_t stream, std::uint32_t process,
                          const MeasuredValues& values);

  const std::shared_ptr<const cupti::HostLibrary> library_;
  const RunPlan& plan_;
  LaunchTable& launches_;
  TellCollector tell_collector_;
  using Part = std::tuple<std::uint32_t, std::uint32_t, std::vector<std::uint8_t>>;
  // By process, device and partition; null: CUPTI does not take that.
  std::map<Part, std::unique_ptr<cupti::HostChip>> chips_;
  Means means_;
  ValueRows rows_;
  // The last ordinals delivered by this attempt at the run, and by earlier ones: a repeated run
  // delivers nothing twice.
  using RangesOf = std::array<std::uint32_t, 3>;  // process, context number, group
  std::map<RangesOf, std::uint64_t> delivered_;
  std::map<RangesOf, std::uint64_t> delivered_before_;
  std::uint64_t mismatched_ = 0;
  std::uint64_t ranges_ = 0;
  std::map<std::string, bool> has_numbers_;  // by metric that was evaluated
};

}  // namespace gpuprof::metrics
