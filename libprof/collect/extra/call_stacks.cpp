#include "libprof/collect/extra/call_stacks.hpp"

#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>
#include <utility>

#include "libprof/base/padded_text.hpp"
#include "libprof/base/word_hash.hpp"
#include "libprof/collect/extra/module_symbols.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::collect {
namespace {

template <class Stack>
struct Unwound {
  PythonInterpreter::Code until;  // the first frame in here and its callers are left out
  Stack stack;
  bool reached = false;  // `until` was reached
  // How far the thread's stack extends, judging by the calls in it.
  std::uint64_t end = 0;
  bool ended = false;
};

template <class Stack>
_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  auto& unwound = *static_cast<Unwound<Stack>*>(argument);
  Stack& stack = unwound.stack;
  int before = 0;  // the address is before the instruction rather than after the call
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIPInfo(context, &before));
  if (address == 0 || stack.count == stack.addresses.size()) return _URC_END_OF_STACK;
  unwound.reached = unwound.until.has(address);
  if (unwound.reached) return _URC_END_OF_STACK;
  stack.addresses[stack.count++] = address - (before ? 0 : 1);
  // After a signal there are two stacks, of which this is the first.
  constexpr std::uint64_t largest_step = 1 << 20;
  const std::uint64_t frame = _Unwind_GetCFA(context);
  unwound.ended |= frame < unwound.end || (unwound.end != 0 && frame - unwound.end > largest_step);
  if (!unwound.ended) unwound.end = frame;
  return _URC_NO_REASON;
}

// Code between the program's call and us.
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

std::string CallStacks::begin() {
  for (Named::Call call; calls_.pop(call);) {
  }
  for (Stack stack; stacks_.pop(stack);) {
  }
  for (PythonPlace place; python_places_.pop(place);) {
  }
  for (auto& each : noted_) each.store(0);
  for (auto& each : seen_) each.store(0);
  for (auto& each : seen_python_) each.store(0);
  lost_.store(0);
  named_.clear();
  natives_.clear();
  python_frames_.clear();
  warned_ = false;
  last_frame_ = 0;
  // Unwinding initializes itself the first time: do that here rather than in a call of the
  // target's.
  Unwound<Stack> ours;
  _Unwind_Backtrace(&take_frame<Stack>, &ours);
  const std::string why = python_.find();
  return why.empty() ? why : "stacks lack the functions of Python: " + why;
}

// --- on the target's threads

template <class Take>
void CallStacks::each_python_frame(std::uint64_t stack_begin, std::uint64_t stack_end,
                                   Take&& take) {
  std::uint64_t from = 0;
  PythonStack functions(python_, {stack_begin, stack_end}, PythonStack::Reading::by_kernel, from);
  PythonFrame frame;
  for (std::size_t i = 0; i < most_frames && functions.next(frame); ++i) {
    if (!take(id_of(frame), frame)) return;
  }
}

// Queues frames that are not already in transit. false: there is no room.
bool CallStacks::push_python(std::uint64_t stack_begin, std::uint64_t stack_end) {
  bool pushed = true;
  each_python_frame(stack_begin, stack_end, [&](std::uint64_t id, const PythonFrame& frame) {
    auto& seen = seen_python_[id % seen_python_.size()];
    if (seen.load(std::memory_order_acquire) == id) return true;
    pushed = python_places_.push({id, frame});
    if (pushed) seen.store(id, std::memory_order_release);
    return pushed;
  });
  return pushed;
}

bool CallStacks::note(std::uint32_t correlation_id) {
  auto& noted = noted_[correlation_id % noted_.size()];
  if (noted.exchange(correlation_id, std::memory_order_relaxed) == correlation_id) return false;
  Unwound<Stack> unwound;
  unwound.until = python_.code();
  Stack& stack = unwound.stack;
  _Unwind_Backtrace(&take_frame<Stack>, &unwound);
  const auto begin = reinterpret_cast<std::uint64_t>(&unwound);
  each_python_frame(begin, unwound.end, [&](std::uint64_t frame, const PythonFrame&) {
    stack.python[stack.python_count++] = frame;
    return true;
  });
  if (unwound.reached && stack.python_count == 0) {  // finalizing, or in no Python function
    unwound = {};
    _Unwind_Backtrace(&take_frame<Stack>, &unwound);
  }
  std::uint64_t id = static_cast<std::uint64_t>(getpid());
  for (const std::uint64_t part : std::span(stack.addresses).first(stack.count)) {
    id = word_hash(id, part);
  }
  for (const std::uint64_t part : std::span(stack.python).first(stack.python_count)) {
    id = word_hash(id, part);
  }
  // The database's integers are signed.
  stack.id = std::max<std::uint64_t>(id & INT64_MAX, 1);
  if (!calls_.push({correlation_id, stack.id})) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  auto& seen = seen_[stack.id % seen_.size()];
  if (seen.exchange(stack.id, std::memory_order_relaxed) == stack.id) return false;
  // Frames first, so that whoever pops a stack finds its frames.
  if ((stack.python_count == 0 || push_python(begin, unwound.end)) && stacks_.push(stack)) {
    constexpr std::uint32_t many = 32;
    return pushed_.fetch_add(1, std::memory_order_relaxed) % many == many - 1;
  }
  seen.store(0, std::memory_order_relaxed);  // so that the next such call tries again
  return true;
}

// --- on one of our threads

std::string CallStacks::take_warning() {
  if (!python_.failed() || std::exchange(warned_, true)) return {};
  return "stacks lack the functions of Python from here on: the memory of Python " +
         python_.version() + " is not as it should be";
}

// Creates frames for new addresses.
void CallStacks::learn(const std::vector<Stack>& stacks, Named& named) {
  std::vector<std::uint64_t> addresses;
  for (const Stack& stack : stacks) {
    for (const std::uint64_t address : std::span(stack.addresses).first(stack.count)) {
      if (!natives_.contains(address)) addresses.push_back(address);
    }
  }
  std::ranges::sort(addresses);
  addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
  auto places = addresses.empty() ? std::vector<CodePlace>() : places_of(addresses);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_profilers(places[i])) {
      natives_[addresses[i]] = 0;
      continue;
    }
    natives_[addresses[i]] = ++last_frame_;
    named.frames.push_back({last_frame_,
                            std::move(places[i].module),
                            std::move(places[i].function),
                            places[i].offset,
                            {}});
  }
}

// false: the frame of a Python function has not arrived.
bool CallStacks::add_entries(const Stack& stack, Named& named) const {
  const auto python = std::span(stack.python).first(stack.python_count);
  if (!std::ranges::all_of(python, [&](auto id) { return python_frames_.contains(id); })) {
    return false;
  }
  std::uint32_t position = 0;
  for (const std::uint64_t address : std::span(stack.addresses).first(stack.count)) {
    const std::uint32_t frame = natives_.at(address);
    if (frame != 0) named.entries.push_back({stack.id, position++, frame});
  }
  for (const std::uint64_t id : python) {
    named.entries.push_back({stack.id, position++, python_frames_.at(id)});
  }
  return true;
}

CallStacks::Named CallStacks::name() {
  Named named;
  std::vector<Stack> fresh;
  for (Stack stack; fresh.size() < 256 && stacks_.pop(stack);) {
    if (named_.size() < most_stacks && !named_.contains(stack.id)) fresh.push_back(stack);
  }
  PythonPlace place;
  for (int i = 0; i < 1024 && python_places_.pop(place); ++i) {
    if (python_frames_.size() >= most_python_frames ||
        !python_frames_.try_emplace(place.id, last_frame_ + 1).second) {
      continue;
    }
    const std::uint32_t line = place.frame.line;
    named.frames.push_back({++last_frame_,
                            std::string(unpadded(place.frame.file)),
                            std::string(unpadded(place.frame.function)),
                            {},
                            line == 0 ? std::nullopt : std::optional(line)});
  }
  learn(fresh, named);
  for (const Stack& stack : fresh) {
    if (named_.contains(stack.id)) continue;
    if (add_entries(stack, named)) {
      named_.insert(stack.id);
    } else {
      seen_[stack.id % seen_.size()].store(0);  // so that the next such call tries again
    }
  }
  for (Named::Call call; named.calls.size() < 8192 && calls_.pop(call);)
    named.calls.push_back(call);
  return named;
}

void CallStacks::Named::add_to(wire::RowSender& rows) const {
  for (const Frame& frame : frames) {
    rows.add<schema::StackFrame>(
        {frame.number, frame.module, frame.offset, frame.function, frame.line});
  }
  for (const Entry& entry : entries) {
    rows.add<schema::StackEntry>({entry.stack, entry.position, entry.frame});
  }
  for (const Call& call : calls) rows.add<schema::CallStack>({call.correlation, call.stack});
}

}  // namespace gpuprof::collect
