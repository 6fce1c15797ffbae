#include "libprof/collect/extra/cpu_stacks.hpp"

#include <optional>

#include "libprof/base/padded_text.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::collect {

CpuStacks::Numbers CpuStacks::numbers_of(std::span<const std::uint64_t> native,
                                         const PythonSpots& spots, wire::RowSender& rows) {
  Numbers numbers;
  frames_.clear();
  const auto add = [&](std::uint32_t frame) {
    if (frame == 0) return;
    numbers.frame == 0 ? void(numbers.frame = frame) : frames_.push_back(frame);
  };
  for (const std::uint64_t address : native) add(native_number(address, rows));
  for (std::size_t i = 0; i < spots.count; ++i) add(python_number(spots.spots[i], rows));
  if (frames_.empty()) return numbers;
  const auto known = stacks_.find(frames_);
  if (known != stacks_.end()) {
    numbers.callers = known->second;
  } else if (stacks_.size() < most_stacks) {
    numbers.callers = first + stacks_.size();
    for (std::uint32_t i = 0; i < frames_.size(); ++i) {
      rows.add<schema::StackEntry>({.stack = numbers.callers, .position = i, .frame = frames_[i]});
    }
    stacks_.emplace(frames_, numbers.callers);
  }
  return numbers;
}

std::uint32_t CpuStacks::native_number(std::uint64_t address, wire::RowSender& rows) {
  const auto known = by_address_.find(address);
  if (known != by_address_.end()) return known->second;
  const CodeModule* const module = modules_.at(address);
  const std::string path = module ? module->path : std::string();
  const std::uint64_t offset = address - (module ? module->base : 0);
  const auto place = places_.find({path, offset});
  std::uint32_t number = place == places_.end() ? 0 : place->second;
  if (number == 0) {
    if (functions_ == most_functions) return 0;
    number = next_number();
    ++functions_;
    places_.emplace(std::pair(path, offset), number);
    rows.add<schema::StackFrame>(
        {.frame = number, .module = path, .offset = offset, .function = {}, .line = std::nullopt});
  }
  by_address_.emplace(address, number);
  return number;
}

std::uint32_t CpuStacks::python_number(const PythonSpot& spot, wire::RowSender& rows) {
  const std::uint64_t identity = python_.identity_of(spot);
  if (identity == 0) return 0;
  const auto known = by_identity_.find(identity);
  if (known != by_identity_.end()) return known->second;
  const auto function = python_.function_at(spot);
  if (!function) return 0;
  const std::uint64_t id = python::id_of(*function);
  const auto same = python_functions_.find(id);
  std::uint32_t number = same == python_functions_.end() ? 0 : same->second;
  if (number == 0) {
    if (functions_ == most_functions) return 0;
    number = next_number();
    ++functions_;
    python_functions_.emplace(id, number);
    rows.add<schema::StackFrame>(
        {.frame = number,
         .module = unpadded(function->file),
         .offset = std::nullopt,
         .function = unpadded(function->function),
         .line = function->line == 0 ? std::nullopt : std::optional(function->line)});
  }
  // Programs that make code all the time make identities all the time.
  constexpr std::size_t most_identities = 1 << 18;
  if (by_identity_.size() == most_identities) by_identity_.clear();
  by_identity_.emplace(identity, number);
  return number;
}

}  // namespace gpuprof::collect
