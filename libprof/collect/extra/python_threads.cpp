#include "libprof/collect/extra/python_threads.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <span>

#include "libprof/base/word_hash.hpp"
#include "libprof/collect/extra/own_memory.hpp"

namespace gpuprof::collect {

bool PythonThreads::read(std::uint64_t from, void* to, std::size_t bytes) const {
  return read_own_memory(process_, from, to, bytes);
}

template <class T>
bool PythonThreads::read(std::uint64_t from, T& value) const {
  return read_own_memory(process_, from, &value, sizeof value);
}

// --- on our thread

std::string PythonThreads::find() { return found() ? std::string() : look(); }

std::string PythonThreads::look() {
  const auto address = [](const char* name) {
    return reinterpret_cast<std::uint64_t>(dlsym(RTLD_DEFAULT, name));
  };
  const std::uint64_t runtime = address("_PyRuntime");
  unsigned long version = 0;
  if (runtime == 0) return {};
  if (!read(address("Py_Version"), version)) return "Python is older than 3.11";
  types_ = {address("PyCode_Type"), address("PyUnicode_Type"), address("PyBytes_Type")};
  if (types_.code == 0 || types_.string == 0 || types_.bytes == 0) {
    return "Python " + python::version_text(version) + " is built in a way that is not known";
  }
  std::array<std::uint64_t, python::debug_words> table{};
  std::span<const std::uint64_t> words;
  if (python::has_debug_table(version) && read(runtime, table) &&
      python::is_debug_table(table[0])) {
    words = table;
  }
  std::string why = python::find_layout(version, words, layout_);
  if (!why.empty()) return why;
  frame_size_ = python::size_of_frame(layout_);
  code_ = address("PyGILState_GetThisThreadState");
  runtime_ = runtime;
  return {};
}

std::map<pid_t, std::uint64_t> PythonThreads::states() const {
  constexpr int most_interpreters = 8, most_threads = 1024;
  std::map<pid_t, std::uint64_t> states;
  std::uint64_t interpreter = 0;
  if (!found() || !read(runtime_ + layout_.interpreters, interpreter)) return states;
  const auto& at = layout_.thread;
  for (int i = 0; i < most_interpreters && python::is_pointer(interpreter); ++i) {
    std::uint64_t state = 0;
    if (!read(interpreter + layout_.interpreter.threads, state)) break;
    for (int j = 0; j < most_threads && python::is_pointer(state); ++j) {
      std::uint64_t id = 0, next = 0;
      if (!read(state + at.kernels_id, id) || !read(state + at.next, next)) break;
      if (id != 0 && id < INT32_MAX) states.emplace(static_cast<pid_t>(id), state);
      if (next == state) break;
      state = next;
    }
    if (!read(interpreter + layout_.interpreter.next, interpreter)) break;
  }
  return states;
}

std::uint64_t PythonThreads::identity_of(const PythonSpot& spot) const {
  std::array<std::byte, python::code_bytes> head;
  if (!python::is_pointer(spot.code) || !read(spot.code, head.data(), head.size()) ||
      python::field<std::uint64_t>(head, layout_.type) != types_.code) {
    return 0;
  }
  return word_hash(python::identity_of(layout_, head), word_hash(spot.code, spot.instruction));
}

std::optional<python::PythonFrame> PythonThreads::function_at(const PythonSpot& spot) const {
  const auto read_bytes = [this](std::uint64_t from, void* to, std::size_t bytes) {
    return bytes == 0 || read(from, to, bytes);
  };
  python::PythonFrame function;
  const bool whole = python::read_function(
      layout_, types_, spot.code, spot.instruction, function, read_bytes,
      [&](const python::PythonLineTable& table, std::uint64_t unit, std::uint32_t& line) {
        return python::search_line(table, unit, line, read_bytes);
      },
      read_bytes);
  return whole ? std::optional(function) : std::nullopt;
}

// --- in a signal handler

void PythonThreads::copy_spots(std::uint64_t state, pid_t thread, PythonSpots& spots) const {
  constexpr unsigned of_interpreter = 3;  // this and higher owners: frames where C calls Python
  constexpr int most_steps = 256;         // frames, including those of no function
  spots.count = 0;
  std::uint64_t id = 0, at = 0;
  if (state == 0 || !found() || !read(state + layout_.thread.kernels_id, id) ||
      id != static_cast<std::uint64_t>(thread) || !read(state + layout_.thread.current, at)) {
    return;
  }
  if (layout_.frames_of_c.there &&
      (!python::is_pointer(at) || !read(at + layout_.frames_of_c.frame, at))) {
    return;
  }
  std::array<std::byte, python::frame_bytes> bytes;
  const auto frame = std::span(bytes).first(std::min(frame_size_, bytes.size()));
  const auto word = [&](std::uint64_t place) { return python::field<std::uint64_t>(frame, place); };
  const auto& places = layout_.frame;
  for (int i = 0; i < most_steps && spots.count < spots.most && at != 0; ++i) {
    if (!python::is_pointer(at) || !read(at, frame.data(), frame.size())) break;
    at = word(places.previous);
    if (python::field<std::uint8_t>(frame, places.owner) >= of_interpreter) continue;
    // The lowest bits are tags for reference counting.
    spots.spots[spots.count++] = {word(places.code) & ~std::uint64_t{7}, word(places.instruction)};
  }
}

}  // namespace gpuprof::collect
