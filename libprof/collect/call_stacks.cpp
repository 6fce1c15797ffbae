#include "libprof/collect/call_stacks.hpp"

#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "libprof/collect/module_symbols.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::collect {
namespace {

template <class Stack>
_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  auto& stack = *static_cast<Stack*>(argument);
  int before = 0;  // it stands before the instruction, not behind the call
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIPInfo(context, &before));
  if (address == 0 || stack.count == stack.addresses.size()) return _URC_END_OF_STACK;
  stack.addresses[stack.count++] = address - (before ? 0 : 1);
  return _URC_NO_REASON;
}

// As FNV-1a, over words.
std::uint64_t hash(std::uint64_t hash, std::uint64_t word) { return (hash ^ word) * 0x100000001b3; }

// What lies between the program's call and us.
bool is_profilers(const CodePlace& place) {
  const std::string_view path = place.module;
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libgpuprof_collector.") || name.starts_with("libcupti.");
}

}  // namespace

std::vector<wire::WireTable> CallStacks::tables() {
  return {wire::definition_of<schema::CallStack>(), wire::definition_of<schema::StackEntry>(),
          wire::definition_of<schema::StackFrame>()};
}

void CallStacks::begin() {
  for (Named::Call call; calls_.pop(call);) {
  }
  for (Stack stack; stacks_.pop(stack);) {
  }
  for (auto& each : noted_) each.store(0);
  for (auto& each : seen_) each.store(0);
  lost_.store(0);
  named_.clear();
  frames_.clear();
  last_frame_ = 0;
  // What unwinding makes ready the first time, it does not make ready in the target's call.
  Stack ours;
  _Unwind_Backtrace(&take_frame<Stack>, &ours);
}

void CallStacks::note(std::uint32_t correlation_id) {
  auto& noted = noted_[correlation_id % noted_.size()];
  if (noted.exchange(correlation_id, std::memory_order_relaxed) == correlation_id) return;
  Stack stack;
  _Unwind_Backtrace(&take_frame<Stack>, &stack);
  std::uint64_t id = hash(0xcbf29ce484222325, static_cast<std::uint64_t>(getpid()));
  for (std::size_t i = 0; i < stack.count; ++i) id = hash(id, stack.addresses[i]);
  // The file's integers have a sign.
  stack.id = std::max<std::uint64_t>((id ^ (id >> 32)) & INT64_MAX, 1);
  if (!calls_.push({correlation_id, stack.id})) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  auto& seen = seen_[stack.id % seen_.size()];
  if (seen.exchange(stack.id, std::memory_order_relaxed) == stack.id) return;
  if (stacks_.push(stack)) return;
  seen.store(0, std::memory_order_relaxed);  // the next call of it tries again
}

CallStacks::Named CallStacks::name() {
  Named named;
  std::vector<Stack> fresh;
  for (Stack stack; fresh.size() < 256 && stacks_.pop(stack);) {
    if (named_.size() >= most_stacks || !named_.insert(stack.id).second) continue;
    fresh.push_back(stack);
  }
  std::vector<std::uint64_t> addresses;
  for (const Stack& stack : fresh) {
    for (std::size_t i = 0; i < stack.count; ++i) {
      if (!frames_.contains(stack.addresses[i])) addresses.push_back(stack.addresses[i]);
    }
  }
  std::ranges::sort(addresses);
  addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
  auto places = addresses.empty() ? std::vector<CodePlace>() : places_of(addresses);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_profilers(places[i])) {
      frames_[addresses[i]] = 0;
      continue;
    }
    frames_[addresses[i]] = ++last_frame_;
    named.frames.push_back({last_frame_, std::move(places[i].module), std::move(places[i].function),
                            places[i].offset});
  }
  for (const Stack& stack : fresh) {
    std::uint32_t position = 0;
    for (std::size_t i = 0; i < stack.count; ++i) {
      const std::uint32_t frame = frames_.at(stack.addresses[i]);
      if (frame != 0) named.entries.push_back({stack.id, position++, frame});
    }
  }
  for (Named::Call call; named.calls.size() < 8192 && calls_.pop(call);)
    named.calls.push_back(call);
  return named;
}

void CallStacks::Named::add_to(wire::RowSender& rows) const {
  for (const Frame& frame : frames) {
    rows.add<schema::StackFrame>({frame.number, frame.module, frame.offset, frame.function});
  }
  for (const Entry& entry : entries) {
    rows.add<schema::StackEntry>({entry.stack, entry.position, entry.frame});
  }
  for (const Call& call : calls) rows.add<schema::CallStack>({call.correlation, call.stack});
}

}  // namespace gpuprof::collect
