#include "libprof/host/remote_python.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace gpuprof::host {

using namespace python;

namespace {

// Where an interpreter may be: the program first, which has copies of a library's variables if it
// refers to them.
std::vector<attach::Image> images_of(const attach::ReadMemory& read,
                                     const std::vector<attach::Mapping>& maps) {
  std::vector<attach::Image> images;
  const auto add = [&](auto&& fits) {
    if (const auto* file = attach::find_file(maps, fits)) images.emplace_back(read, file->begin);
  };
  add([](std::string_view) { return true; });
  add([](std::string_view name) { return name.starts_with("libpython3."); });
  return images;
}

}  // namespace

std::string RemotePython::find(const std::vector<attach::Mapping>& maps) {
  runtime_ = 0;
  const auto images = images_of(read_, maps);
  const auto variable = [&](std::string_view name) -> std::uint64_t {
    for (const attach::Image& image : images) {
      if (const auto found = image.variable(name)) return *found;
    }
    return 0;
  };
  const std::uint64_t runtime = variable("_PyRuntime");
  if (runtime == 0) {
    const bool is_python = attach::find_file(maps, [](std::string_view name) {
      return name.starts_with("python3") || name.starts_with("libpython3.");
    });
    return is_python ? "the symbols of its Python cannot be read" : "";
  }
  unsigned long version = 0;
  if (!read_value(variable("Py_Version"), version)) return "Python is older than 3.11";
  types_ = {variable("PyCode_Type"), variable("PyUnicode_Type"), variable("PyBytes_Type")};
  if (types_.code == 0 || types_.string == 0 || types_.bytes == 0) {
    return "Python " + version_text(version) + " is built in a way that is not known";
  }
  std::array<std::uint64_t, debug_words> table{};
  const bool has_table =
      has_debug_table(version) && read(runtime, std::as_writable_bytes(std::span(table)));
  std::string why = find_layout(
      version, has_table ? std::span<const std::uint64_t>(table) : std::span<const std::uint64_t>(),
      layout_);
  if (why.empty()) runtime_ = runtime;
  return why;
}

bool RemotePython::read(Moment& moment) const {
  moment.threads.clear();
  moment.locks.clear();
  std::uint64_t interpreter = 0;
  if (!found() || !read_value(runtime_ + layout_.interpreters, interpreter)) return false;
  for (std::size_t i = 0; i < most_interpreters && interpreter != 0; ++i) {
    if (!is_pointer(interpreter) || !read_threads(interpreter, moment) ||
        !read_value(interpreter + layout_.interpreter.next, interpreter)) {
      return false;
    }
  }
  return true;
}

bool RemotePython::read_threads(std::uint64_t interpreter, Moment& moment) const {
  const std::size_t before = moment.threads.size();
  std::uint64_t state = 0;
  if (!read_value(interpreter + layout_.interpreter.threads, state)) return false;
  while (state != 0 && moment.threads.size() < most_threads) {
    Thread thread;
    std::uint64_t next = 0;
    if (!read_thread(state, thread, next)) return false;
    // 0: it has not begun.
    if (thread.id != 0) moment.threads.push_back(thread);
    if (next == state) break;
    state = next;
  }
  Lock lock;
  if (read_lock(interpreter, std::span(moment.threads).subspan(before), lock)) {
    moment.locks.push_back(lock);
  }
  return true;
}

bool RemotePython::read_thread(std::uint64_t state, Thread& thread, std::uint64_t& next) const {
  std::array<std::byte, thread_bytes> bytes;
  const auto& at = layout_.thread;
  const std::size_t needed = std::max({at.current, at.kernels_id, at.next}) + 8;
  if (!is_pointer(state) || !read(state, std::span(bytes).first(needed))) return false;
  next = field<std::uint64_t>(bytes, at.next);
  thread.state = state;
  const auto id = field<std::uint64_t>(bytes, at.kernels_id);
  thread.id = id < INT32_MAX ? static_cast<pid_t>(id) : 0;
  thread.frame = field<std::uint64_t>(bytes, at.current);
  if (layout_.frames_of_c.there && thread.frame != 0) {
    const std::uint64_t of_c = thread.frame;
    if (!is_pointer(of_c) || !read_value(of_c + layout_.frames_of_c.frame, thread.frame)) {
      return false;
    }
  }
  return true;
}

bool RemotePython::read_again(Thread& thread) const {
  Thread now;
  std::uint64_t next = 0;
  if (!read_thread(thread.state, now, next) || now.id != thread.id) return false;
  thread = now;
  return true;
}

bool RemotePython::read_lock(std::uint64_t interpreter, std::span<const Thread> threads,
                             Lock& lock) const {
  std::uint64_t at = runtime_ + layout_.lock.at;
  if (!layout_.lock.of_runtime &&
      (!read_value(interpreter + layout_.lock.at, at) || !is_pointer(at))) {
    return false;
  }
  std::array<std::byte, lock_bytes> bytes;
  if (!read(at, bytes)) return false;
  lock.begin = at;
  lock.end = at + lock_bytes;
  if (field<std::uint32_t>(bytes, layout_.lock.locked) == 1) {
    const auto holder = std::ranges::find(threads, field<std::uint64_t>(bytes, layout_.lock.holder),
                                          &Thread::state);
    if (holder != threads.end()) lock.holder = holder->id;
  }
  return true;
}

bool RemotePython::read_stack(const Thread& thread, std::vector<Place>& places) const {
  constexpr std::uint64_t page = 4096;
  constexpr unsigned of_interpreter = 3;  // this and higher owners: frames where C calls Python
  places.clear();
  const std::size_t size = size_of_frame(layout_);
  // Frames are close to each other: a page is read at a time.
  std::array<std::byte, page + frame_bytes> window;
  std::uint64_t begin = 0, end = 0, at = thread.frame;
  for (int i = 0; at != 0 && i < most_steps && places.size() < most_frames; ++i) {
    if (!is_pointer(at)) return false;
    if (at < begin || at + size > end) {
      begin = at / page * page;
      end = std::max(begin + page, at + size);
      if (!read(begin, std::span(window).first(end - begin))) return false;
    }
    const auto frame = std::span(window).subspan(at - begin, size);
    at = field<std::uint64_t>(frame, layout_.frame.previous);
    if (field<std::uint8_t>(frame, layout_.frame.owner) >= of_interpreter) continue;
    // The lowest bits are tags for reference counting.
    Place place{field<std::uint64_t>(frame, layout_.frame.code) & ~std::uint64_t{7},
                field<std::uint64_t>(frame, layout_.frame.instruction)};
    if (!identify(place)) return false;
    places.push_back(place);
  }
  return true;
}

bool RemotePython::identify(Place& place) const {
  std::array<std::byte, code_bytes> head;
  if (!is_pointer(place.code) || !read(place.code, head) ||
      field<std::uint64_t>(head, layout_.type) != types_.code) {
    return false;
  }
  place.identity = identity_of(layout_, head);
  return true;
}

bool RemotePython::read_function(const Place& place, PythonFrame& function) const {
  const auto read_bytes = [this](std::uint64_t from, void* to, std::size_t bytes) {
    return read(from, {static_cast<std::byte*>(to), bytes});
  };
  return python::read_function(
      layout_, types_, place.code, place.instruction, function, read_bytes,
      [&](const PythonLineTable& table, std::uint64_t unit, std::uint32_t& line) {
        return search_line(table, unit, line, read_bytes);
      },
      read_bytes);
}

}  // namespace gpuprof::host
