#include "libprof/collect/extra/native_frames.hpp"

#include <link.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "libprof/base/word_hash.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::uint64_t word = sizeof(std::uint64_t);
// A frame is not larger, and a stack that is walked neither: what is, may be two.
constexpr std::uint64_t largest_frame = 1 << 20, largest_stack = 16 << 20;

// A part of the calling thread's stack: of any frame, which a sanitizer would not expect.
#if defined(__clang__) || defined(__GNUC__)
__attribute__((no_sanitize("address", "thread")))
#endif
std::uint64_t
word_at(std::uint64_t place) {
  return *reinterpret_cast<const volatile std::uint64_t*>(place);
}

struct UnwoundFrames {
  std::uint64_t frame;  // whose caller is the first; 0: all
  PythonInterpreter::Code until;
  NativeStack stack;
  std::array<std::uint64_t, NativeStack::most_frames> places{};
  std::uint64_t end = 0;     // beyond the last frame
  std::uint64_t beyond = 0;  // the place of the address in `until`; 0: none is
  bool regular = true;       // return addresses are where they are looked for
  bool whole = true;         // there was room for all
};

_Unwind_Reason_Code take_address(_Unwind_Context* context, void* argument) {
  auto& unwound = *static_cast<UnwoundFrames*>(argument);
  const auto address = static_cast<std::uint64_t>(_Unwind_GetIP(context));
  if (address == 0) return _URC_END_OF_STACK;
  // Where the frame's stack begins after the call has returned.
  const std::uint64_t top = _Unwind_GetCFA(context);
  const std::uint64_t place = top - word;
  if (top <= unwound.frame) return _URC_NO_REASON;
  NativeStack& stack = unwound.stack;
  if (unwound.until.has(address)) {
    unwound.beyond = place;
    unwound.end = top;
    return _URC_END_OF_STACK;
  }
  if (stack.count == stack.addresses.size()) {
    unwound.whole = false;
    return _URC_END_OF_STACK;
  }
  if (stack.count == 0) unwound.regular = place == unwound.frame + word;
  const bool rises = stack.count == 0 || (place > unwound.places[stack.count - 1] &&
                                          place - unwound.places[stack.count - 1] < largest_frame);
  unwound.regular &= rises && top > word && word_at(place) == address;
  unwound.places[stack.count] = place;
  stack.addresses[stack.count++] = address;
  if (rises) unwound.end = top;
  return _URC_NO_REASON;
}

}  // namespace

void NativeFrames::clear() {
  for (Step& step : steps_) {
    step.address.store(0, std::memory_order_relaxed);
    for (auto& distance : step.distances) distance.store(0, std::memory_order_relaxed);
  }
  unwound_.store(0);
  // Unwinding initializes itself the first time: here rather than in a call of the target's.
  UnwoundFrames ours{.frame = 0, .until = {}, .stack = {}};
  _Unwind_Backtrace(&take_address, &ours);
}

NativeFrames::Step* NativeFrames::find(std::uint64_t address, bool add) {
  constexpr std::size_t most_tries = 16;
  for (std::size_t i = 0; i < most_tries; ++i) {
    Step& step = steps_[(word_hash(0, address) + i) % most_steps];
    std::uint64_t there = step.address.load(std::memory_order_relaxed);
    if (there == 0 && add) step.address.compare_exchange_strong(there, address);
    if (there == address || (there == 0 && add)) return &step;
    if (there == 0) return nullptr;
  }
  return nullptr;
}

void NativeFrames::learn(std::uint64_t address, std::uint32_t distance) {
  Step* const step = find(address, true);
  if (!step) return;
  for (auto& known : step->distances) {
    std::uint32_t there = 0;
    known.compare_exchange_strong(there, distance, std::memory_order_relaxed);
    if (there == 0 || there == distance) return;
  }
  // More than a few: nothing follows from the address.
  for (auto& known : step->distances) known.store(1, std::memory_order_relaxed);
}

// 0: not known.
inline std::uint32_t NativeFrames::distance_at(const Step& step, std::uint64_t place,
                                               std::uint64_t end) {
  const std::uint32_t first = step.distances[0].load(std::memory_order_relaxed);
  if (first <= 1 || step.distances[1].load(std::memory_order_relaxed) == 0) {
    return first <= 1 ? 0 : first;
  }
  // Of several that which leads to a return address.
  for (const auto& each : step.distances) {
    const std::uint32_t distance = each.load(std::memory_order_relaxed);
    if (distance <= 1 || distance == is_last || place + distance + word > end) continue;
    if (find(word_at(place + distance), false)) return distance;
  }
  return 0;
}

bool NativeFrames::walk_known(std::uint64_t place, const Code& until, std::uint64_t end,
                              NativeStack& stack) {
  while (place + word <= end && stack.count < stack.addresses.size()) {
    const std::uint64_t address = word_at(place);
    if (until.has(address)) return true;
    const Step* const step = find(address, false);
    const std::uint32_t distance = step ? distance_at(*step, place, end) : 0;
    if (distance == 0) return false;
    stack.addresses[stack.count++] = address;
    if (distance == is_last) return true;
    place += distance;
  }
  return stack.count == stack.addresses.size();
}

void NativeFrames::unwind(std::uint64_t frame, const Code& until, std::uint64_t& end,
                          NativeStack& stack) {
  unwound_.fetch_add(1, std::memory_order_relaxed);
  UnwoundFrames unwound{.frame = frame, .until = until, .stack = {}};
  _Unwind_Backtrace(&take_address, &unwound);
  stack = unwound.stack;
  if (!unwound.regular) return;
  end = std::max(end, unwound.end);
  const auto& places = unwound.places;
  for (std::size_t i = 0; i + 1 < stack.count; ++i) {
    learn(stack.addresses[i], static_cast<std::uint32_t>(places[i + 1] - places[i]));
  }
  if (stack.count == 0 || !unwound.whole) return;
  const std::size_t last = stack.count - 1;
  const std::uint64_t left = unwound.beyond - places[last];
  if (unwound.beyond != 0 && left >= largest_frame) return;
  learn(stack.addresses[last], unwound.beyond == 0 ? is_last : static_cast<std::uint32_t>(left));
}

void NativeFrames::walk(const void* frame_address, const Code& until, std::uint64_t& stack_end,
                        NativeStack& stack) {
  const auto frame = reinterpret_cast<std::uint64_t>(frame_address);
#if defined(__x86_64__)
  const std::uint64_t place = frame + word;
  // Another stack than the last time: a fiber's.
  if (stack_end <= place || stack_end - place > largest_stack) stack_end = 0;
  if (stack_end != 0 && walk_known(place, until, stack_end, stack)) return;
#endif
  stack.count = 0;
  unwind(frame, until, stack_end, stack);
}

// --- modules

namespace {

struct LookedForModule {
  std::uint64_t address = 0;
  NativePlace place;
};

int find_module(dl_phdr_info* object, std::size_t, void* argument) {
  auto& looked_for = *static_cast<LookedForModule*>(argument);
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type != PT_LOAD || looked_for.address < begin ||
        looked_for.address - begin >= segment.p_memsz) {
      continue;
    }
    looked_for.place.offset = looked_for.address - object->dlpi_addr;
    auto& module = looked_for.place.module;
    const std::string_view path = object->dlpi_name ? object->dlpi_name : "";
    if (path.empty()) {  // the program itself
      const ssize_t size = readlink("/proc/self/exe", module.data(), module.size() - 1);
      module[size > 0 ? static_cast<std::size_t>(size) : 0] = 0;
    } else {
      const std::size_t size = std::min(path.size(), module.size() - 1);
      std::memcpy(module.data(), path.data() + path.size() - size, size);
    }
    return 1;
  }
  return 0;
}

}  // namespace

NativePlace place_of(std::uint64_t address) {
  LookedForModule looked_for{address, {}};
  looked_for.place.offset = address;
  dl_iterate_phdr(&find_module, &looked_for);
  return looked_for.place;
}

bool is_of_profiler(std::string_view module) {
  const std::string_view name = module.substr(module.rfind('/') + 1);
  return name.starts_with("libgpuprof_collector.") || name.starts_with("libcupti.");
}

}  // namespace gpuprof::collect
