#include "libprof/collect/extra/launch_stacks.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "libprof/base/padded_text.hpp"
#include "libprof/base/word_hash.hpp"
#include "libprof/collect/extra/call_stacks.hpp"
#include "libprof/collect/made_records.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {
namespace {

// Writes entries one after the other.
class EntryWriter {
 public:
  explicit EntryWriter(std::byte* begin) : begin_(begin), at_(begin) {}

  void add(const void* bytes, std::size_t size) {
    std::memcpy(at_, bytes, size);
    at_ += size;
  }
  void add_text(std::string_view text) {
    const BytesEntry entry{Entry::bytes, 0, static_cast<std::uint32_t>(text.size()), 0};
    std::byte* const end = at_ + size_of_bytes_entry(text.size());
    add(&entry, sizeof entry);
    add(text.data(), text.size());
    *at_ = std::byte{0};
    at_ = end;
  }
  std::size_t size() const { return static_cast<std::size_t>(at_ - begin_); }

 private:
  std::byte *begin_, *at_;
};

}  // namespace

std::vector<wire::WireTable> LaunchStacks::tables() {
  std::vector<wire::WireTable> all = CallStacks::tables();
  all.push_back(wire::definition_of<schema::GraphNode>());
  return all;
}

std::string LaunchStacks::begin(wire::LaunchStacks threads, bool native) {
  all_threads_ = threads == wire::LaunchStacks::all;
  if (!native) native_.reset();
  if (native && !native_) native_ = std::make_unique<NativeFrames>();
  if (native_) native_->clear();
  stacks_.clear();
  frames_.clear();
  lost_.store(0);
  warned_ = false;
  const std::string why = python_.find();
  return why.empty() ? why : "calls have no lines of Python: " + why;
}

std::string LaunchStacks::take_warning() {
  if (!python_.failed() || std::exchange(warned_, true)) return {};
  return "calls have no lines of Python from here on: the memory of Python " + python_.version() +
         " is not as it should be";
}

// --- on the target's threads

PythonStack::Reading LaunchStacks::reading_of(const ThreadSlots::Thread& thread) const {
  using Reading = PythonStack::Reading;
  if (thread.is_first) return Reading::of_first_thread;
  return python_.holds_lock() ? Reading::direct : Reading::frames_by_kernel;
}

PythonStack LaunchStacks::functions_of(ThreadSlots::Thread& thread, PythonStack::Reading reading) {
  const bool by_kernel = reading == PythonStack::Reading::frames_by_kernel;
  return {python_, by_kernel ? PythonStack::own_stack() : PythonStack::OwnStack(), reading,
          thread.frames_from};
}

void LaunchStacks::note(ThreadSlots::Thread& thread, std::uint32_t correlation_id,
                        const void* frame) {
  if (thread.left_out) return;
  if (std::exchange(thread.stack_of, correlation_id) == correlation_id) return;
  const PythonStack::Reading reading = reading_of(thread);
  if (!all_threads_ && reading == PythonStack::Reading::frames_by_kernel) return;
  NativeStack native;
  std::uint64_t hash = python_.found() ? functions_of(thread, reading).hash() : 0;
  if (native_) {
    native_->walk(frame, python_.code(), thread.stack_end, native);
    for (std::size_t i = 0; i < native.count; ++i) hash = word_hash(hash, native.addresses[i]);
  }
  if (hash == 0) return;
  const std::uint32_t stack = stacks_.number_of(hash);
  if (stack == 0 || !(stacks_.is_taken(stack) || describe(thread, reading, stack, native))) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  write(thread, CallStackEntry{Entry::call_stack, 0, correlation_id, stack, 0});
}

void LaunchStacks::note_node(ThreadSlots::Thread& thread, std::uint64_t node, std::uint64_t own,
                             std::uint64_t source) {
  if (thread.left_out) return;
  write(thread, GraphNodeEntry{Entry::graph_node, 0, thread.stack_of, node, own, source});
}

template <class T>
void LaunchStacks::write(ThreadSlots::Thread& thread, const T& entry) {
  if (!slots_.make_room(thread, sizeof entry)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  std::memcpy(thread.end(), &entry, sizeof entry);
  thread.written(sizeof entry);
}

bool LaunchStacks::describe(ThreadSlots::Thread& thread, PythonStack::Reading reading,
                            std::uint32_t stack, const NativeStack& native) {
  if (!stacks_.take(stack)) return true;
  struct {
    StackEntry head;
    std::array<std::uint32_t, NativeStack::most_frames + PythonStack::most_frames> frames;
  } entry{{Entry::stack, 0, stack}, {}};
  std::uint32_t number = 1;
  for (std::size_t i = 0; number != 0 && i < native.count; ++i) {
    number = native_number(thread, native.addresses[i]);
    if (number != of_profiler) entry.frames[entry.head.count++] = number;
  }
  PythonStack functions = functions_of(thread, reading);
  PythonFrame frame;
  // Those beyond would be of any stack that has the same number.
  const std::size_t most_count = entry.head.count + PythonStack::most_frames;
  while (number != 0 && entry.head.count < most_count && functions.next(frame)) {
    number = frame_number(thread, frame);
    entry.frames[entry.head.count++] = number;
  }
  const std::size_t size = size_of_stack_entry(entry.head.count);
  if (number == 0 || !slots_.make_room(thread, size)) {
    stacks_.give_back(stack);
    return false;
  }
  std::memcpy(thread.end(), &entry, size);
  thread.written(size);
  return true;
}

std::uint32_t LaunchStacks::frame_number(ThreadSlots::Thread& thread, const PythonFrame& frame) {
  const std::uint32_t number = frames_.number_of(id_of(frame));
  if (number == 0) return 0;
  if (frames_.take(number) && !write_frame(thread, first_frame + number, frame)) {
    frames_.give_back(number);
    return 0;
  }
  return first_frame + number;
}

std::uint32_t LaunchStacks::native_number(ThreadSlots::Thread& thread, std::uint64_t address) {
  // The call is before the address.
  const NativePlace place = place_of(address - 1);
  if (is_of_profiler(unpadded(place.module))) return of_profiler;
  const std::uint32_t number = frames_.number_of(word_hash(word_hash(0, address), place.offset));
  if (number == 0) return 0;
  if (frames_.take(number) && !write_native(thread, first_frame + number, place)) {
    frames_.give_back(number);
    return 0;
  }
  return first_frame + number;
}

bool LaunchStacks::write_native(ThreadSlots::Thread& thread, std::uint32_t number,
                                const NativePlace& place) {
  const std::string_view module = unpadded(place.module);
  NativeFrameEntry entry{Entry::native_frame, 0, number, place.offset, no_bytes, 0};
  const std::size_t of_text = module.empty() ? 0 : size_of_bytes_entry(module.size());
  if (!slots_.make_room(thread, of_text + sizeof entry)) return false;
  EntryWriter writer(thread.end());
  if (!module.empty()) {
    entry.module = thread.used;
    writer.add_text(module);
  }
  writer.add(&entry, sizeof entry);
  thread.written(writer.size());
  return true;
}

bool LaunchStacks::write_frame(ThreadSlots::Thread& thread, std::uint32_t number,
                               const PythonFrame& frame) {
  const std::string_view file = unpadded(frame.file), function = unpadded(frame.function);
  const std::size_t of_texts =
      size_of_bytes_entry(file.size()) + size_of_bytes_entry(function.size());
  if (!slots_.make_room(thread, of_texts + sizeof(StackFrameEntry))) return false;
  StackFrameEntry entry{Entry::stack_frame, 0, number, frame.line, thread.used, 0, 0};
  EntryWriter writer(thread.end());
  writer.add_text(file);
  entry.function = thread.used + static_cast<BytesAt>(writer.size());
  writer.add_text(function);
  writer.add(&entry, sizeof entry);
  thread.written(writer.size());
  return true;
}

}  // namespace gpuprof::collect
