#include "libprof/exchange/export/work_stacks.hpp"

#include <string_view>

#include "libprof/base/saturating.hpp"

namespace gpuprof::exporting {
namespace {

constexpr std::string_view between_ranges = " / ";

// From the outermost range to the innermost.
std::vector<StackFrame> ranges_of(std::string_view path) {
  std::vector<StackFrame> frames;
  while (!path.empty()) {
    const std::size_t end = path.find(between_ranges);
    frames.push_back({std::string(path.substr(0, end))});
    path = end == std::string_view::npos ? "" : path.substr(end + between_ranges.size());
  }
  return frames;
}

}  // namespace

void WorkStacks::add(const Activity& activity) {
  if (activity.group != Activity::Group::gpu) return;
  const std::uint32_t code = code_.stack_of(activity.process, activity.node, activity.correlation);
  Sum& sum = sums_[{activity.device, activity.process, activity.context, activity.stream}][{
      code, code == 0 ? std::string(activity.path) : std::string(), std::string(activity.name)}];
  sum.time = saturating_add(sum.time, activity.duration());
  ++sum.count;
}

std::vector<StackFrame> WorkStacks::frames_of(const Stack& stack) const {
  const auto code = code_.frames(stack.code);
  std::vector<StackFrame> frames(code.begin(), code.end());
  if (stack.code == 0) frames = ranges_of(stack.path);
  frames.push_back({.name = stack.work, .kind = StackFrame::Kind::work});
  return frames;
}

}  // namespace gpuprof::exporting
