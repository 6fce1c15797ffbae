#include "libprof/metrics/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "libprof/metrics/evaluator.hpp"
#include "libprof/wire/measures.hpp"
#include "libprof/wire/stream_error.hpp"

namespace gpuprof::metrics {

void Evaluation::begin_run(bool again) {
  if (again) {
    for (const auto& [key, ordinal] : delivered_) {
      delivered_before_[key] = std::max(delivered_before_[key], ordinal);
    }
  } else {
    delivered_before_.clear();
  }
  delivered_.clear();
}

// One per device: a host object remembers what it learned about the device from the first image,
// and devices of one chip differ in the units that are disabled. (Seen with two H200s: counters
// inside the SM had no values on the second.)
const cupti::HostChip* Evaluation::chip_of(const PlannedGroup& group, std::uint32_t process,
                                           std::uint32_t device, const wire::Partition* partition) {
  const auto [found, fresh] = chips_.try_emplace(
      {process, device, partition ? partition->info : std::vector<std::uint8_t>()});
  if (!fresh) return found->second.get();
  found->second = std::make_unique<cupti::HostChip>(library_, group.chip);
  if (partition && !found->second->set_partition(partition->info)) found->second.reset();
  return found->second.get();
}

void Evaluation::leave_out_known(std::uint32_t process, wire::CounterData& data) {
  if (data.ranges.empty()) return;
  const RangesOf key{process, data.context_number, data.group};
  const auto before = delivered_before_.find(key);
  const std::uint64_t last = before == delivered_before_.end() ? 0 : before->second;
  for (wire::MeasuredRange& range : data.ranges) {
    if (range.ordinal <= last) range.wanted = 0;
  }
  delivered_[key] = data.ranges.back().ordinal;
}

void Evaluation::note_numbers(const MeasuredValues& values, const GroupMetrics& group) {
  const std::size_t metrics = group.metrics.size();
  for (std::size_t i = 0; i < values.ranges.size(); ++i) {
    if (!values.evaluated[i]) continue;  // it is lost, which has other reasons
    for (std::size_t m = 0; m < metrics; ++m) {
      has_numbers_[group.metrics[m]->name] |= !std::isnan(values.values[i * metrics + m]);
    }
  }
}

std::vector<std::string> Evaluation::without_numbers() const {
  std::vector<std::string> names;
  for (const auto& [name, has] : has_numbers_) {
    if (!has) names.push_back(name);
  }
  return names;
}

void Evaluation::tell_what_is_known(std::uint32_t stream, std::uint32_t process,
                                    const MeasuredValues& values) {
  for (const KernelShape& shape : means_.add(process, values)) {
    std::string size;
    for (const std::uint32_t part : shape.size) size += std::to_string(part) + ",";
    wire::Fields fields;
    fields.set("enough", shape.name);
    fields.set("size", size);
    fields.set("context", std::int64_t{values.context});
    fields.set("group", std::int64_t{values.group});
    tell_collector_(stream, fields);
  }
}

std::vector<wire::Frame> Evaluation::take(wire::Frame frame, const Processes::Place& from) {
  std::vector<wire::Frame> result;
  const bool first = from.run == 0;
  if (frame.type != wire::FrameType::counter_data) {
    if (first) result.push_back(std::move(frame));
    return result;
  }
  auto data = wire::decode_counter_data(frame.payload());
  if (!data) throw wire::StreamError("what it measured cannot be read");
  if (!from.recorded_stream) {
    mismatched_ += data->ranges.size();
    return result;
  }
  if (data->group == wire::launch_list) {
    launches_.add(from.process, *data);
    return result;
  }
  const PlannedGroup* planned = plan_.group(data->group);
  if (!planned) return result;
  leave_out_known(from.process, *data);
  if (!first) {
    // The times in the file are those of the first run.
    for (wire::MeasuredRange& range : data->ranges) range.start = range.end = 0;
  }
  constexpr std::size_t most_chips = 64;
  if (chips_.size() > most_chips) chips_.clear();
  std::vector<const cupti::HostChip*> parts;
  for (const wire::Partition& partition : data->partitions) {
    parts.push_back(chip_of(*planned, from.process, data->device, &partition));
  }
  MeasuredValues values =
      evaluate(*chip_of(*planned, from.process, data->device), planned->evaluated, *data, parts);
  const PlanOptions& options = plan_.options();
  note_numbers(values, planned->evaluated);
  if (!first && options.replay == Replay::application) {
    mismatched_ += launches_.join(from.process, data->context_number, values);
  }
  if (options.replay == Replay::multiplex && tell_collector_) {
    tell_what_is_known(frame.stream, from.process, values);
  }
  ranges_ += values.ranges.size();
  if (options.keep_counter_data) result.push_back(std::move(frame));
  rows_.add(values, planned->evaluated.metrics);
  std::ranges::move(rows_.take(*from.recorded_stream), std::back_inserter(result));
  return result;
}

}  // namespace gpuprof::metrics
