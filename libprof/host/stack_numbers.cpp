#include "libprof/host/stack_numbers.hpp"

#include <optional>

#include "libprof/base/padded_text.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::host {

std::uint32_t StackNumbers::number_of(const python::PythonFrame& frame) {
  const std::uint64_t id = python::id_of(frame);
  const auto known = frames_.find(id);
  if (known != frames_.end()) return known->second;
  if (frames_.size() == most) return 0;
  const auto number = first + static_cast<std::uint32_t>(frames_.size());
  frames_.emplace(id, number);
  rows_.add<schema::StackFrame>(
      {.frame = number,
       .module = unpadded(frame.file),
       .offset = std::nullopt,
       .function = unpadded(frame.function),
       .line = frame.line == 0 ? std::nullopt : std::optional(frame.line)});
  return number;
}

std::uint64_t StackNumbers::number_of(std::span<const std::uint32_t> frames) {
  if (frames.empty()) return 0;
  std::vector<std::uint32_t> stack(frames.begin(), frames.end());
  const auto known = stacks_.find(stack);
  if (known != stacks_.end()) return known->second;
  if (stacks_.size() == most) return 0;
  const std::uint64_t number = first + stacks_.size();
  for (std::uint32_t i = 0; i < stack.size(); ++i) {
    rows_.add<schema::StackEntry>({.stack = number, .position = i, .frame = stack[i]});
  }
  stacks_.emplace(std::move(stack), number);
  return number;
}

}  // namespace gpuprof::host
