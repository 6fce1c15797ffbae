#include "libprof/collect/cost_limit.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::chrono::milliseconds half{500};

}  // namespace

const char* text_of(Cut cut) {
  switch (cut) {
    case Cut::nvtx: return "NVTX marks and ranges";
    case Cut::other_calls: return "waits and calls that request no work of the GPU";
    case Cut::launch_calls: return "calls that request work of the GPU";
    case Cut::none: break;
  }
  return "";
}

void CostLimit::begin(double limit, Nanoseconds now) {
  *this = {};
  limit_ = limit;
  marks_.fill({now, {}});
}

std::optional<Cut> CostLimit::look(Nanoseconds now, Nanoseconds spent) {
  if (!limits() || over_ || now - marks_[1].time < half) return std::nullopt;
  const Mark before = marks_[0];
  marks_ = {marks_[1], Mark{now, spent}};
  if (now - before.time < 2 * half) return std::nullopt;
  share_ = std::chrono::duration<double>(spent - before.spent) / (now - before.time);
  if (share_ <= limit_) return std::nullopt;
  // What was spent before does not count again.
  marks_.fill({now, spent});
  const Cut cut = next_;
  over_ = cut == Cut::none;
  if (!over_) next_ = static_cast<Cut>(static_cast<int>(cut) + 1);
  return cut;
}

}  // namespace gpuprof::collect
