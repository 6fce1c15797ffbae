#include "libprof/compute/device_time.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::compute {
namespace {

bool longer(const Gap& a, const Gap& b) { return a.length() > b.length(); }

}  // namespace

void DeviceTime::step(std::int64_t time) {
  const std::int64_t passed = time - now_;
  now_ = time;
  if (passed == 0) return;
  if (kernels_ > 0 && copies_ > 0) {
    both_ += passed;
  } else if (kernels_ > 0) {
    kernels_only_ += passed;
    if (communication_ == kernels_) exposed_communication_ += passed;
  } else if (copies_ > 0) {
    copies_only_ += passed;
  }
  if (copies_ > 0) {
    for (auto& [direction, its] : directions_) {
      if (its.running == 0) continue;
      its.copying += passed;
      if (kernels_ > 0) its.beside_kernels += passed;
    }
  }
  if (by_streams_.size() <= at_work_) by_streams_.resize(at_work_ + 1);
  by_streams_[at_work_] += passed;
  account(passed);
}

DeviceTime::Doing DeviceTime::doing() const {
  if (kernels_ > 0) {
    return {communication_ == kernels_ ? Activity::communication : Activity::compute,
            GpuWork::no_copy};
  }
  const auto copying = std::ranges::find_if(
      directions_, [](const auto& direction) { return direction.second.running > 0; });
  return copying == directions_.end() ? Doing(Activity::set, GpuWork::no_copy)
                                      : Doing(Activity::copy, copying->first);
}

void DeviceTime::account(std::int64_t passed) {
  const bool rested = std::exchange(rests_, kernels_ + copies_ == 0);
  if (rests_) return;
  const Doing now = doing();
  if (now != counted_) end_part();
  part_.intervals += rested || now != counted_;
  part_.duration += passed;
  counted_ = now;
}

void DeviceTime::end_part() {
  if (part_.duration == 0) return;
  Part& part = parts_[counted_];
  part.duration += part_.duration;
  part.intervals += part_.intervals;
  part_ = {};
}

DeviceTime::Parts DeviceTime::take_parts() {
  end_part();
  return std::exchange(parts_, {});
}

void DeviceTime::pass_until(std::int64_t time) {
  while (!running_.empty() && running_.top().end <= time) {
    const Running ended = running_.top();
    running_.pop();
    step(ended.end);
    --(ended.computes ? kernels_ : copies_);
    communication_ -= ended.communicates;
    if (ended.direction != GpuWork::no_copy) --directions_[ended.direction].running;
    if (--ended.stream->second > 0) continue;
    --at_work_;
    if (streams_.size() - at_work_ <= most_idle_streams) continue;
    latest_stream_ = nullptr;
    streams_.erase(GpuStream(ended.stream->first));
  }
}

void DeviceTime::keep(const Gap& gap) {
  ++gap_count_;
  if (each_gap_) each_gap_(gap);
  if (gaps_.size() < most_gaps) {
    gaps_.push_back(gap);
    std::ranges::push_heap(gaps_, longer);
  } else if (longer(gap, gaps_.front())) {
    std::ranges::pop_heap(gaps_, longer);
    gaps_.back() = gap;
    std::ranges::push_heap(gaps_, longer);
  }
}

void DeviceTime::add(const GpuWork& work) {
  if (!begun_) {
    first_ = now_ = work.begin;
    begun_ = true;
  }
  pass_until(work.begin);
  if (running_.empty() && work.begin > now_) keep({now_, work.begin, last_ended_, work});
  step(work.begin);
  const GpuStream stream{work.process, work.stream};
  if (!latest_stream_ || latest_stream_->first != stream) {
    latest_stream_ = &*streams_.try_emplace(stream).first;
  }
  const bool computes = work.computes();
  running_.push({work.end, latest_stream_, computes, work.communicates, work.direction});
  ++(computes ? kernels_ : copies_);
  communication_ += work.communicates;
  if (work.direction != GpuWork::no_copy) ++directions_[work.direction].running;
  at_work_ += latest_stream_->second++ == 0;
  if (work.end >= last_ended_.end) last_ended_ = work;
}

void DeviceTime::finish() {
  while (!running_.empty()) pass_until(running_.top().end);
}

std::map<std::int64_t, std::int64_t> DeviceTime::streams() const {
  std::map<std::int64_t, std::int64_t> times;
  for (std::size_t number = 0; number < by_streams_.size(); ++number) {
    if (by_streams_[number] != 0) times[static_cast<std::int64_t>(number)] = by_streams_[number];
  }
  return times;
}

std::vector<Gap> DeviceTime::gaps() const {
  std::vector<Gap> gaps = gaps_;
  std::ranges::sort(gaps, {}, &Gap::begin);
  return gaps;
}

}  // namespace gpuprof::compute
