#include "libprof/collect/extra/python_frames.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "libprof/base/word_hash.hpp"
#include "libprof/collect/extra/own_memory.hpp"
#include "libprof/collect/keep_errno.hpp"

namespace gpuprof::collect {

using namespace python;

namespace {

template <class T>
T symbol(const char* name) {
  return reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
}

// false: not all of it is mapped.
bool read_by_kernel(std::uint64_t from, void* to, std::size_t bytes) {
  const KeepErrno keep;
  return read_own_memory(getpid(), from, to, bytes);
}

// From mapped memory, which belongs to no object if an interpreter's frames are not what they seem:
// a sanitizer ends a program that reads such memory itself.
inline void copy_mapped(std::uint64_t from, void* to, std::size_t bytes) {
#ifdef GPUPROF_SANITIZED
  read_by_kernel(from, to, bytes);
#else
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
#endif
}

}  // namespace

// --- finding the interpreter

namespace {

struct LookedFor {
  std::uint64_t address = 0;
  PythonInterpreter::Code code;
};

int find_code(dl_phdr_info* object, std::size_t, void* argument) {
  auto& looked_for = *static_cast<LookedFor*>(argument);
  PythonInterpreter::Code code{UINT64_MAX, 0};
  bool found = false;
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    const std::uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    const std::uint64_t end = begin + segment.p_memsz;
    found |= looked_for.address >= begin && looked_for.address < end;
    code = {std::min(code.begin, begin), std::max(code.end, end)};
  }
  if (found) looked_for.code = code;
  return found ? 1 : 0;
}

}  // namespace

bool PythonInterpreter::is_there() {
  return symbol<ThreadState*>("PyGILState_GetThisThreadState") != nullptr;
}

std::string PythonInterpreter::find() {
  thread_state_ = nullptr;
  state_of_first_.store(0);
  runtime_ = {};
  code_ = {};
  failed_.store(false);
  for (Set* set : {&known_, &pages_}) {
    for (auto& places : *set) {
      for (auto& each : places) each.store(0);
    }
  }
  for (auto& each : quick_pages_) each.store(0);
  for (auto& each : lines_) each.store(0);
  version_.clear();
  std::string why = look();
  if (!why.empty()) thread_state_ = nullptr;
  if (thread_state_) {
    LookedFor looked_for{reinterpret_cast<std::uint64_t>(thread_state_), {}};
    dl_iterate_phdr(&find_code, &looked_for);
    code_ = looked_for.code;
  }
  return why;
}

namespace {

// As Py_Version, which there is since 3.11; 0: it is not known.
unsigned long python_version() {
  if (const auto* version = symbol<const unsigned long*>("Py_Version")) return *version;
  const auto text_of = symbol<const char* (*)()>("Py_GetVersion");
  unsigned long major = 0, minor = 0, micro = 0;
  constexpr unsigned long final = 0xf0;
  char after = 0;
  const bool is_final =
      text_of && std::sscanf(text_of(), "%lu.%lu.%lu%c", &major, &minor, &micro, &after) == 4 &&
      after == ' ' && major == 3 && minor < 11 && micro < 256;
  return is_final ? major << 24 | minor << 16 | micro << 8 | final : 0;
}

}  // namespace

std::string PythonInterpreter::look() {
  thread_state_ = symbol<ThreadState*>("PyGILState_GetThisThreadState");
  if (!thread_state_) return {};
  current_state_ = symbol<ThreadState*>("_PyThreadState_UncheckedGet");
  if (!current_state_) current_state_ = symbol<ThreadState*>("PyThreadState_GetUnchecked");
  const unsigned long version = python_version();
  if (version == 0) return "the version of Python is not known";
  version_ = version_text(version);
  is_ending_ = symbol<Question*>("Py_IsFinalizing");
  if (!is_ending_) is_ending_ = symbol<Question*>("_Py_IsFinalizing");
  const auto address = [](const char* name) {
    return reinterpret_cast<std::uint64_t>(symbol<const void*>(name));
  };
  types_ = {address("PyCode_Type"), address("PyUnicode_Type"), address("PyBytes_Type")};
  is_initialized_ = symbol<Question*>("Py_IsInitialized");
  if (!is_ending_ || !is_initialized_ || !types_.code || !types_.string || !types_.bytes) {
    return is_built_otherwise();
  }
  char byte = 0;
  if (!read_by_kernel(types_.code, &byte, 1)) {
    return "process_vm_readv is not allowed here";
  }
  return learn_layout(version);
}

std::string PythonInterpreter::learn_layout(unsigned long version) {
  const auto* runtime = symbol<const std::uint64_t*>("_PyRuntime");
  if (!runtime) return is_built_otherwise();
  std::span<const std::uint64_t> table;
  if (has_debug_table(version) && is_debug_table(*runtime)) table = {runtime, debug_words};
  std::string why = find_layout(version, table, layout_);
  if (!why.empty()) return why;
  frame_size_ = size_of_frame(layout_);
  std::uint64_t word = 0;
  const std::uint64_t at = reinterpret_cast<std::uint64_t>(runtime) + layout_.finalizing;
  if (at % sizeof word != 0 || !read_by_kernel(at, &word, sizeof word)) {
    return is_built_otherwise();
  }
  finalizing_ = reinterpret_cast<const std::uint64_t*>(at);
  Dl_info object;
  void* itself = nullptr;
  if (dladdr1(runtime, &object, &itself, RTLD_DL_SYMENT) && itself) {
    runtime_ = {reinterpret_cast<const std::byte*>(runtime),
                static_cast<const ElfW(Sym)*>(itself)->st_size};
  }
  return {};
}

// --- on the calling thread

bool PythonInterpreter::has(const Set& set, std::uint64_t what) {
  return std::ranges::any_of(set[word_hash(0, what) % set.size()], [&](const auto& each) {
    return each.load(std::memory_order_relaxed) == what;
  });
}

void PythonInterpreter::add(Set& set, std::uint64_t what) {
  const std::uint64_t hash = word_hash(0, what);
  auto& places = set[hash % set.size()];
  const auto free = std::ranges::find(places, 0u, [](const auto& each) { return each.load(); });
  auto& place = free == places.end() ? places[(hash >> 32) % places.size()] : *free;
  place.store(what, std::memory_order_relaxed);
}

bool PythonInterpreter::is_known(std::uint64_t code) const { return has(known_, code); }
void PythonInterpreter::remember(std::uint64_t code) { add(known_, code); }

bool PythonInterpreter::read(bool known, std::uint64_t from, void* to, std::size_t bytes) {
  if (!known) return read_by_kernel(from, to, bytes);
  if (bytes > 0 && !is_mapped(from, bytes)) return false;
  copy_mapped(from, to, bytes);
  return true;
}

std::uint64_t PythonInterpreter::find_state_of_first_thread() {
  const auto state = reinterpret_cast<std::uint64_t>(thread_state_());
  const std::uint64_t at = state - reinterpret_cast<std::uint64_t>(runtime_.data());
  if (at < runtime_.size()) state_of_first_.store(state, std::memory_order_relaxed);
  return state;
}

// A page is mapped either completely or not at all.
bool PythonInterpreter::find_page(std::uint64_t page) {
  if (!has(pages_, page)) {
    char byte = 0;
    if (page == 0 || !read_by_kernel(page * page_bytes, &byte, 1)) return false;
    add(pages_, page);
  }
  quick_pages_[page % quick_pages_.size()].store(page, std::memory_order_relaxed);
  return true;
}

template <class T>
bool PythonStack::peek(std::uint64_t at, T& value) {
  if (!python_.is_mapped(at, sizeof value)) return false;
  copy_mapped(at, &value, sizeof value);
  return true;
}

namespace {

// What pthread_self() returns, without the call.
inline std::uint64_t thread_descriptor() {
#ifdef __x86_64__
  return reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());
#else
  return pthread_self();
#endif
}

}  // namespace

PythonStack::OwnStack PythonStack::own_stack() {
  constexpr std::uint64_t largest = 64 << 20;
  const auto begin = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0));
  const std::uint64_t descriptor = thread_descriptor();
  return {begin, descriptor > begin && descriptor - begin < largest ? descriptor : begin};
}

PythonStack::~PythonStack() {
  if (lowest_ != 0) from_ = lowest_;
}

PythonStack::PythonStack(PythonInterpreter& python, OwnStack stack, Reading reading,
                         std::uint64_t& from)
    : python_(python), reading_(reading), stack_(stack), from_(from) {
  if (!is_direct()) {
    frames_.begin = frames_.end = 0;
    on_stack_.begin = on_stack_.end = 0;
  }
  if (!python.found() || python.failed() || python.is_finalizing()) return;
  const auto state = reading == Reading::of_first_thread
                         ? python.state_of_first_thread()
                         : reinterpret_cast<std::uint64_t>(python.thread_state_());
  if (state == 0) return;
  const PythonLayout& layout = python.layout_;
  if (reading != Reading::by_kernel) {
    std::uint64_t id = 0;
    const bool is_sound = is_pointer(state) && peek(state + layout.thread.id, id) &&
                          id == thread_descriptor() &&
                          peek(state + layout.thread.current, frame_) &&
                          (!layout.frames_of_c.there ||
                           (is_pointer(frame_) && peek(frame_ + layout.frames_of_c.frame, frame_)));
    if (!is_sound) give_up();
    return;
  }
  std::array<std::byte, thread_bytes> thread;
  const std::size_t needed = std::max(layout.thread.current, layout.thread.id) + 8;
  if (!is_pointer(state) || !read_by_kernel(state, thread.data(), needed) ||
      field<std::uint64_t>(thread, layout.thread.id) != thread_descriptor()) {
    give_up();
    return;
  }
  frame_ = field<std::uint64_t>(thread, layout.thread.current);
  if (!layout.frames_of_c.there) return;
  const std::uint64_t at = frame_ + layout.frames_of_c.frame;
  if (!is_pointer(frame_) ||
      !python.read(is_own_stack(at, sizeof frame_), at, &frame_, sizeof frame_)) {
    give_up();
  }
}

// Nothing can be expected of a finalizing interpreter.
bool PythonStack::give_up() {
  frame_ = 0;
  if (!python_.ends()) python_.failed_.store(true, std::memory_order_relaxed);
  return false;
}

// Inline, as what follows: a call for each frame of a hash would take as long as what it does.
[[gnu::always_inline]] inline bool PythonStack::read_frame(std::uint64_t at, Frame& frame) {
  const PythonLayout::OfFrame& places = python_.layout_.frame;
  const std::size_t size = python_.frame_size_;
  std::array<std::byte, frame_bytes> bytes;
  auto from = reinterpret_cast<std::uint64_t>(bytes.data());
  if (is_direct()) {
    if (!is_in_page_of_frames(at, size) && !find_page_of_frames(at, size)) return false;
    from = at;
  } else if (!read_frame(at, std::span(bytes).first(size))) {
    return false;
  }
  const auto take = [from](std::uint64_t place, auto& value) {
    copy_mapped(from + place, &value, sizeof value);
  };
  take(places.code, frame.code);
  take(places.previous, frame.previous);
  take(places.instruction, frame.instruction);
  frame.owner = 0;
  if (places.owner != 0) take(places.owner, frame.owner);
  if (places.counted != 0) {
    const auto count = static_cast<std::int32_t>(frame.instruction);  // -1: it has not begun
    frame.instruction = frame.code + python_.layout_.code.instructions +
                        static_cast<std::uint64_t>(count * places.counted);
  }
  return true;
}

bool PythonStack::find_page_of_frames(std::uint64_t at, std::size_t size) {
  if (!python_.is_mapped(at, size)) return false;
  page_of_frames_ = at / page;
  return true;
}

[[gnu::always_inline]] inline bool PythonStack::next_place(Place& place) {
  constexpr unsigned of_interpreter = 3;  // this and higher owners: frames where C calls Python
  while (frame_ != 0 && steps_++ < most_steps) {
    Frame frame;
    if (!is_pointer(frame_) || !read_frame(frame_, frame)) return give_up();
    frame_ = frame.previous;
    if (frame.owner >= of_interpreter) continue;
    // The lowest bits are tags for reference counting.
    place = {frame.code & ~std::uint64_t{7}, frame.instruction};
    return true;
  }
  return false;
}

bool PythonStack::next(PythonFrame& function) {
  Place place;
  if (!next_place(place)) return false;
  return read_function(place.code, place.instruction, function) || give_up();
}

[[gnu::always_inline]] inline bool PythonStack::identify(std::uint64_t code, std::uint64_t& word) {
  const PythonLayout& layout = python_.layout_;
  const std::uint64_t first_line = code + layout.code.first_line;
  const std::uint64_t version = code + layout.code.version;
  std::uint32_t line = 0, number = 0;
  if (layout.code.version == 0) return peek(first_line, line) && sample(code, line, word);
  // The version is a little after the first line.
  if (!python_.is_mapped(first_line, version + sizeof number - first_line)) return false;
  copy_mapped(first_line, &line, sizeof line);
  copy_mapped(version, &number, sizeof number);
  word = std::uint64_t{number} << 32 | line;
  return true;
}

// Without a version: samples of the file's name and of the table of lines. The addresses alone may
// all be those of an object that is gone.
bool PythonStack::sample(std::uint64_t code, std::uint32_t line, std::uint64_t& word) {
  const PythonLayout& layout = python_.layout_;
  std::uint64_t file = 0, lines = 0, length = 0, size = 0, piece = 0;
  if (!peek(code + layout.code.file, file) || !is_pointer(file) ||
      !peek(code + layout.code.lines, lines) || !is_pointer(lines) ||
      !peek(file + layout.string.length, length) || length > INT32_MAX ||
      !peek(lines + layout.bytes.size, size) || size > INT32_MAX) {
    return false;
  }
  word = word_hash(file + lines * 3, std::uint64_t{line} << 32 | (length << 16 ^ size));
  const auto take = [&](std::uint64_t at) {
    if (!peek(at, piece)) return false;
    word = word_hash(word, piece);
    return true;
  };
  const std::uint64_t end = sizeof piece;
  const std::uint64_t text = lines + layout.bytes.text;
  return take(file + layout.string.ascii_text + std::max(length, end) - end) &&
         (size < end || (take(text) && take(text + size / 2 - end / 2) && take(text + size - end)));
}

std::uint64_t PythonStack::hash() {
  std::uint64_t hash = 0;
  Place place;
  for (std::size_t i = 0; i < most_frames && next_place(place); ++i) {
    std::uint64_t word = 0;
    if (!is_pointer(place.code) || !identify(place.code, word)) {
      give_up();
      return 0;
    }
    // Products that do not wait for each other.
    hash = word_hash(
        hash, place.code + place.instruction * 0x9e3779b97f4a7c15 + word * 0xd6e8feb86659fd93);
  }
  return hash;
}

bool PythonStack::read_frame(std::uint64_t at, std::span<std::byte> frame) {
  if (is_own_stack(at, frame.size())) return python_.read(true, at, frame.data(), frame.size());
  // Frames that C has made are on the thread's stack, which may extend beyond its known part.
  constexpr std::uint64_t largest_stack = 8 << 20;
  if (at >= stack_.begin && at - stack_.begin < largest_stack) {
    return read_window(on_stack_, at, at, frame);
  }
  const bool is_first = frames_.end == 0;
  if (is_first) first_ = lowest_ = at;
  if (!read_window(frames_, is_first ? from_ : at, at, frame)) return false;
  if (first_ - at < largest_span) lowest_ = std::min(lowest_, at);
  return true;
}

template <std::size_t most>
bool PythonStack::read_window(Window<most>& window, std::uint64_t from, std::uint64_t at,
                              std::span<std::byte> frame) {
  if (at < window.begin || at + frame.size() > window.end) {
    window.end = at + frame.size();
    const auto read_from = [&](std::uint64_t begin) {
      window.begin = begin / cache_line * cache_line;
      return read_by_kernel(window.begin, window.bytes.data(), window.end - window.begin);
    };
    const bool is_beyond = from < at / page * page && at - from < most;
    if (!(is_beyond && read_from(from)) && !read_from(at / page * page)) {
      window.end = 0;
      return false;
    }
  }
  std::memcpy(frame.data(), window.bytes.data() + (at - window.begin), frame.size());
  return true;
}

bool PythonStack::read_function(std::uint64_t code, std::uint64_t instruction,
                                PythonFrame& function) const {
  const bool known = python_.is_known(code);
  const bool whole = python::read_function(
      python_.layout_, python_.types_, code, instruction, function,
      [&](std::uint64_t from, void* to, std::size_t bytes) {
        return python_.read(known, from, to, bytes);
      },
      [&](const PythonLineTable& table, std::uint64_t unit, std::uint32_t& line) {
        return find_line(known, table, unit, line);
      },
      read_by_kernel);
  if (whole && !known) python_.remember(code);
  return whole;
}

bool PythonStack::find_line(bool known, const PythonLineTable& table, std::uint64_t unit,
                            std::uint32_t& found) const {
  // Another object may have been placed at the same address: three places of its table are part of
  // the key.
  std::uint64_t key = word_hash(table.code, unit);
  for (const std::uint64_t part :
       {table.text, table.size, static_cast<std::uint64_t>(table.first_line)}) {
    key = word_hash(key, part);
  }
  std::uint64_t word = 0;
  const bool cached = table.size >= sizeof word;
  for (const std::uint64_t at : {table.size - sizeof word, table.size / 2 - sizeof word / 2, 0ul}) {
    if (!cached) break;
    if (!python_.read(known, table.text + at, &word, sizeof word)) return false;
    key = word_hash(key, word);
  }
  constexpr std::uint64_t line_bits = (1 << 24) - 1;
  auto& slot = python_.lines_[key % python_.lines_.size()];
  const std::uint64_t before = slot.load(std::memory_order_relaxed);
  if (cached && before != 0 && ((before ^ key) & ~line_bits) == 0) {
    found = static_cast<std::uint32_t>(before & line_bits);
    return true;
  }
  const auto read = [&](std::uint64_t from, void* to, std::size_t bytes) {
    return python_.read(known, from, to, bytes);
  };
  if (!search_line(table, unit, found, read)) return false;
  if (cached && found <= line_bits) {
    slot.store((key & ~line_bits) | found, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace gpuprof::collect
