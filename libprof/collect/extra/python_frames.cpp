#include "libprof/collect/extra/python_frames.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "libprof/collect/extra/python_lines.hpp"
#include "libprof/collect/extra/word_hash.hpp"
#include "libprof/collect/keep_errno.hpp"

namespace gpuprof::collect {
namespace {

template <class T>
T symbol(const char* name) {
  return reinterpret_cast<T>(dlsym(RTLD_DEFAULT, name));
}

// false: not all of it is mapped.
bool read_by_kernel(std::uint64_t from, void* to, std::size_t bytes) {
  const KeepErrno keep;
  iovec ours{to, bytes};
  iovec theirs{reinterpret_cast<void*>(from), bytes};
  return process_vm_readv(getpid(), &ours, 1, &theirs, 1, 0) == static_cast<ssize_t>(bytes);
}

template <class T>
T field(std::span<const std::byte> bytes, std::uint64_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

template <std::size_t size>
std::uint64_t hash_of(std::uint64_t hash, const std::array<char, size>& text) {
  for (std::size_t i = 0; i < size; i += sizeof hash) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, sizeof word);
    if (word == 0) break;  // the rest is zeros
    hash = word_hash(hash, word);
  }
  return word_hash(hash, 0);
}

bool is_pointer(std::uint64_t value) { return value >= 4096 && value % 8 == 0; }

constexpr PythonLayout python_3_11{.thread = {56, 152},
                                   .frames_of_c = {true, 8},
                                   .frame = {32, 48, 56, 69},
                                   .code = {112, 128, 136, 72, 184, 0},
                                   .bytes = {16, 32},
                                   .string = {16, 32, 48, 72},
                                   .type = 8};
constexpr PythonLayout python_3_12{.thread = {56, 136},
                                   .frames_of_c = {true, 0},
                                   .frame = {0, 8, 56, 70},
                                   .code = {112, 128, 136, 68, 192, 92},
                                   .bytes = {16, 32},
                                   .string = {16, 32, 40, 56},
                                   .type = 8};

// Newer versions have a table of their offsets for debuggers, 64 bits each. Where the wanted ones
// are in it:
struct DebugOffsets {
  std::size_t current_frame, thread_id, frame, code, object, bytes, string;
};
constexpr DebugOffsets debug_3_13{23, 24, 28, 34, 44, 64, 67};
constexpr DebugOffsets debug_3_14{26, 27, 31, 39, 50, 74, 77};
constexpr DebugOffsets debug_3_15{26, 30, 39, 47, 58, 86, 89};
constexpr std::size_t debug_words = 96;

PythonLayout layout_by(const DebugOffsets& at, std::span<const std::uint64_t> table) {
  PythonLayout layout{};
  layout.thread = {table[at.current_frame], table[at.thread_id]};
  layout.frame = {table[at.frame + 2], table[at.frame + 1], table[at.frame + 3],
                  table[at.frame + 5]};
  // Five counts are between the first line and the version, which is not in the table.
  const std::uint64_t first_line = table[at.code + 5];
  layout.code = {table[at.code + 1], table[at.code + 3], table[at.code + 4],
                 first_line,         table[at.code + 9], first_line + 24};
  layout.type = table[at.object + 1];
  layout.bytes = {table[at.bytes + 1], table[at.bytes + 2]};
  // Non-ASCII strings have an additional length and pointer before the text.
  const std::uint64_t ascii = table[at.string + 3];
  layout.string = {table[at.string + 2], table[at.string + 1], ascii, ascii + 16};
  return layout;
}

// What is read of a frame.
std::size_t size_of_frame(const PythonLayout& layout) {
  return std::max({layout.frame.code + 8, layout.frame.previous + 8, layout.frame.instruction + 8,
                   layout.frame.owner + 1});
}

constexpr std::size_t thread_bytes = 256, code_bytes = 176, string_bytes = 64, size_bytes = 32;

bool fits(const PythonLayout& layout, std::size_t frame_bytes) {
  const auto within = [](std::size_t bytes, std::initializer_list<std::uint64_t> all) {
    return std::ranges::all_of(all, [&](std::uint64_t at) { return at + 8 <= bytes; });
  };
  return within(thread_bytes, {layout.thread.current, layout.thread.id}) &&
         within(frame_bytes, {layout.frame.code, layout.frame.previous, layout.frame.instruction,
                              layout.frame.owner}) &&
         within(code_bytes, {layout.code.file, layout.code.function, layout.code.lines,
                             layout.code.first_line, layout.code.version, layout.type}) &&
         within(string_bytes, {layout.string.length, layout.string.state}) &&
         within(size_bytes, {layout.bytes.size}) && layout.string.ascii_text <= string_bytes;
}

// --- texts

std::size_t utf8(std::uint32_t c, char* to) {
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = 0xfffd;
  const auto tail = [c](unsigned shift) { return static_cast<char>(0x80 | ((c >> shift) & 63)); };
  if (c < 0x80) {
    to[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    to[0] = static_cast<char>(0xc0 | (c >> 6));
    to[1] = tail(0);
    return 2;
  }
  if (c < 0x10000) {
    to[0] = static_cast<char>(0xe0 | (c >> 12));
    to[1] = tail(6);
    to[2] = tail(0);
    return 3;
  }
  to[0] = static_cast<char>(0xf0 | (c >> 18));
  to[1] = tail(12);
  to[2] = tail(6);
  to[3] = tail(0);
  return 4;
}

constexpr std::string_view ellipsis = "…";

// Which part is kept of a string that is too long.
enum class Keep { beginning, end };

struct PythonText {
  std::uint64_t text = 0, length = 0;
  unsigned kind = 1;  // bytes per character
  bool ascii = false;
};

// `read(address, to, bytes)` returns whether they could be read.
template <std::size_t room, class Read>
bool copy_text(Read&& read, const PythonText& from, Keep keep, std::array<char, room>& to) {
  if (from.kind == 1 && from.ascii && from.length <= room - ellipsis.size()) {
    return read(from.text, to.data(), from.length);
  }
  std::array<char, room * 4> characters;
  const std::uint64_t count = std::min<std::uint64_t>(from.length, room);
  const std::uint64_t first = keep == Keep::end ? from.length - count : 0;
  if (!read(from.text + first * from.kind, characters.data(), count * from.kind)) {
    return false;
  }
  // Copied one by one, from the end that is kept; an ellipsis replaces what does not fit.
  std::size_t used = 0;
  bool whole = count == from.length;
  std::array<char, room> turned;  // filled from the end
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = keep == Keep::end ? count - 1 - i : i;
    std::uint32_t character = 0;
    std::memcpy(&character, characters.data() + at * from.kind, from.kind);
    char bytes[4];
    const std::size_t size = utf8(character, bytes);
    if (used + size > room - ellipsis.size()) {
      whole = false;
      break;
    }
    std::memcpy(keep == Keep::end ? turned.data() + room - used - size : to.data() + used, bytes,
                size);
    used += size;
  }
  char* at = to.data() + (keep == Keep::end ? 0 : used);
  if (!whole) at = std::copy(ellipsis.begin(), ellipsis.end(), at);
  if (keep == Keep::end) std::memcpy(at, turned.data() + room - used, used);
  return true;
}

}  // namespace

std::uint64_t id_of(const PythonFrame& frame) {
  return std::max<std::uint64_t>(hash_of(hash_of(frame.line, frame.file), frame.function), 1);
}

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

std::string PythonInterpreter::find() {
  thread_state_ = nullptr;
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

std::string PythonInterpreter::look() {
  thread_state_ = symbol<ThreadState*>("PyGILState_GetThisThreadState");
  if (!thread_state_) return {};
  const auto* version = symbol<const unsigned long*>("Py_Version");
  if (!version) return "Python is older than 3.11";
  version_ = std::to_string(*version >> 24) + "." + std::to_string((*version >> 16) & 255) + "." +
             std::to_string((*version >> 8) & 255);
  is_ending_ = symbol<Question*>("Py_IsFinalizing");
  if (!is_ending_) is_ending_ = symbol<Question*>("_Py_IsFinalizing");
  code_type_ = symbol<const void*>("PyCode_Type");
  string_type_ = symbol<const void*>("PyUnicode_Type");
  bytes_type_ = symbol<const void*>("PyBytes_Type");
  is_initialized_ = symbol<Question*>("Py_IsInitialized");
  if (!is_ending_ || !is_initialized_ || !code_type_ || !string_type_ || !bytes_type_) {
    return "Python " + version_ + " is built in a way that is not known";
  }
  char byte = 0;
  if (!read_by_kernel(reinterpret_cast<std::uint64_t>(code_type_), &byte, 1)) {
    return "process_vm_readv is not allowed here";
  }
  return learn_layout(*version);
}

std::string PythonInterpreter::learn_layout(unsigned long version) {
  const std::string unknown =
      "the layout of Python " + version_ + " is not known, only those of 3.11 to 3.15";
  constexpr unsigned long candidate = 0xc;  // of a release candidate; earlier layouts may change
  if ((version >> 24) != 3 || ((version >> 4) & 15) < candidate) return unknown;
  const unsigned long minor = (version >> 16) & 255;
  if (minor == 11 || minor == 12) {
    layout_ = minor == 11 ? python_3_11 : python_3_12;
    frame_size_ = size_of_frame(layout_);
    return {};
  }
  if (minor < 13 || minor > 15) return unknown;
  const auto* runtime = symbol<const std::uint64_t*>("_PyRuntime");
  if (!runtime || std::memcmp(runtime, "xdebugpy", 8) != 0) return unknown;
  const std::span<const std::uint64_t> table(runtime, debug_words);
  const DebugOffsets& at = minor == 13 ? debug_3_13 : minor == 14 ? debug_3_14 : debug_3_15;
  if (table[1] != version) return unknown;
  const bool free_threaded = table[2] != 0;
  if (free_threaded) {
    return "Python " + version_ + " runs without a global lock, whose layout is not known";
  }
  layout_ = layout_by(at, table);
  frame_size_ = size_of_frame(layout_);
  return fits(layout_, PythonStack::frame_bytes) ? std::string() : unknown;
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
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return true;
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
  std::memcpy(&value, reinterpret_cast<const void*>(at), sizeof value);
  return true;
}

PythonStack::PythonStack(PythonInterpreter& python, std::uint64_t begin, std::uint64_t end,
                         Reading reading)
    : python_(python), reading_(reading), begin_(begin), end_(end) {
  if (!python.found() || python.failed() || python.ends()) return;
  const auto state = reinterpret_cast<std::uint64_t>(python.thread_state_());
  if (state == 0) return;
  const PythonLayout& layout = python.layout_;
  if (reading != Reading::by_kernel) {
    std::uint64_t id = 0;
    const bool is_sound = is_pointer(state) && peek(state + layout.thread.id, id) &&
                          id == pthread_self() && peek(state + layout.thread.current, frame_) &&
                          (!layout.frames_of_c.there ||
                           (is_pointer(frame_) && peek(frame_ + layout.frames_of_c.frame, frame_)));
    if (!is_sound) give_up();
    return;
  }
  std::array<std::byte, thread_bytes> thread;
  const std::size_t needed = std::max(layout.thread.current, layout.thread.id) + 8;
  if (!is_pointer(state) || !read_by_kernel(state, thread.data(), needed) ||
      field<pthread_t>(thread, layout.thread.id) != pthread_self()) {
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

inline bool PythonStack::read_frame(std::uint64_t at, Frame& frame) {
  const PythonLayout::OfFrame& places = python_.layout_.frame;
  const std::size_t size = python_.frame_size_;
  std::array<std::byte, frame_bytes> bytes;
  const std::byte* from = bytes.data();
  if (reading_ == Reading::direct) {
    if (!python_.is_mapped(at, size)) return false;
    from = reinterpret_cast<const std::byte*>(at);
  } else if (!read_window(at, std::span(bytes).first(size))) {
    return false;
  }
  const auto take = [from](std::uint64_t place, auto& value) {
    std::memcpy(&value, from + place, sizeof value);
  };
  take(places.code, frame.code);
  take(places.previous, frame.previous);
  take(places.instruction, frame.instruction);
  take(places.owner, frame.owner);
  return true;
}

inline bool PythonStack::next_place(Place& place) {
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

inline bool PythonStack::identify(std::uint64_t code, std::uint64_t& word) {
  const PythonLayout& layout = python_.layout_;
  const std::uint64_t first_line = code + layout.code.first_line;
  const std::uint64_t version = code + layout.code.version;
  std::uint32_t line = 0, number = 0;
  if (layout.code.version == 0) return peek(first_line, line) && sample(code, line, word);
  // The version is a little after the first line.
  if (!python_.is_mapped(first_line, version + sizeof number - first_line)) return false;
  std::memcpy(&line, reinterpret_cast<const void*>(first_line), sizeof line);
  std::memcpy(&number, reinterpret_cast<const void*>(version), sizeof number);
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

bool PythonStack::read_window(std::uint64_t at, std::span<std::byte> frame) {
  const std::size_t size = frame.size();
  if (is_own_stack(at, size)) return python_.read(true, at, frame.data(), size);
  // Some frames are on the thread's stack, outside its known part.
  constexpr std::uint64_t largest_stack = 8 << 20;
  Window& window = windows_[at >= begin_ && at - begin_ < largest_stack];
  if (at < window.begin || at + size > window.end) {
    window.begin = at / page * page;
    window.end = std::max(window.begin + page, at + size);
    if (!read_by_kernel(window.begin, window.bytes.data(), window.end - window.begin)) {
      window.end = 0;
      return false;
    }
  }
  std::memcpy(frame.data(), window.bytes.data() + (at - window.begin), size);
  return true;
}

bool PythonStack::read_function(std::uint64_t code, std::uint64_t instruction,
                                PythonFrame& function) const {
  const PythonLayout& layout = python_.layout_;
  if (!is_pointer(code)) return false;
  const bool known = python_.is_known(code);
  const auto read = [&](std::uint64_t from, void* to, std::size_t bytes) {
    return python_.read(known, from, to, bytes);
  };
  const auto is_of = [&](std::span<const std::byte> object, const void* type) {
    return field<std::uint64_t>(object, layout.type) == reinterpret_cast<std::uint64_t>(type);
  };

  std::array<std::byte, code_bytes> head;
  if (!read(code, head.data(), head.size()) || !is_of(head, python_.code_type_)) {
    return false;
  }

  const auto text_of = [&](std::uint64_t string, PythonText& text) {
    std::array<std::byte, string_bytes> bytes;
    if (!is_pointer(string) || !read(string, bytes.data(), layout.string.ascii_text) ||
        !is_of(bytes, python_.string_type_)) {
      return false;
    }
    const auto state = field<std::uint32_t>(bytes, layout.string.state);
    const bool compact = (state >> 5) & 1;
    text.ascii = (state >> 6) & 1;
    text.kind = (state >> 2) & 7;
    text.length = field<std::uint64_t>(bytes, layout.string.length);
    text.text = string + (text.ascii ? layout.string.ascii_text : layout.string.text);
    return compact && (text.kind == 1 || text.kind == 2 || text.kind == 4) &&
           text.length <= INT32_MAX;
  };
  function = {};
  PythonText file, name;
  if (!text_of(field<std::uint64_t>(head, layout.code.file), file) ||
      !text_of(field<std::uint64_t>(head, layout.code.function), name) ||
      !copy_text(read, file, Keep::end, function.file) ||
      !copy_text(read, name, Keep::beginning, function.function)) {
    return false;
  }

  std::array<std::byte, size_bytes> bytes;
  const auto table = field<std::uint64_t>(head, layout.code.lines);
  if (!is_pointer(table) || !read(table, bytes.data(), layout.bytes.size + 8) ||
      !is_of(bytes, python_.bytes_type_)) {
    return false;
  }
  constexpr std::uint64_t longest_table = 1 << 20;
  const auto table_size = std::min(field<std::uint64_t>(bytes, layout.bytes.size), longest_table);
  const auto first_line = field<std::int32_t>(head, layout.code.first_line);
  const std::uint64_t instructions = code + layout.code.instructions;
  if (instruction < instructions) {  // it has not begun
    function.line = first_line > 0 ? static_cast<std::uint32_t>(first_line) : 0;
  } else {
    const PythonLineTable lines{known, code, table + layout.bytes.text, table_size, first_line};
    if (!find_line(lines, (instruction - instructions) / 2, function.line)) return false;
  }
  if (!known) python_.remember(code);
  return true;
}

bool PythonStack::find_line(const PythonLineTable& table, std::uint64_t unit,
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
    if (!python_.read(table.known, table.text + at, &word, sizeof word)) return false;
    key = word_hash(key, word);
  }
  constexpr std::uint64_t line_bits = (1 << 24) - 1;
  auto& slot = python_.lines_[key % python_.lines_.size()];
  const std::uint64_t before = slot.load(std::memory_order_relaxed);
  if (cached && before != 0 && ((before ^ key) & ~line_bits) == 0) {
    found = static_cast<std::uint32_t>(before & line_bits);
    return true;
  }
  PythonLine line(table.first_line, unit);
  std::array<std::uint8_t, 512> piece;
  for (std::uint64_t done = 0; done < table.size;) {
    const std::uint64_t size = std::min<std::uint64_t>(piece.size(), table.size - done);
    if (!python_.read(table.known, table.text + done, piece.data(), size)) return false;
    if (!line.wants(std::span(piece).first(size))) break;
    done += size;
  }
  found = line.line();
  if (cached && found <= line_bits) {
    slot.store((key & ~line_bits) | found, std::memory_order_relaxed);
  }
  return true;
}

}  // namespace gpuprof::collect
