#include "libprof/python/layout.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace gpuprof::python {
namespace {

// Of 3.9 and 3.10 what is read from outside is missing.
constexpr PythonLayout python_3_9{.thread = {24, 176, 0, 8},
                                  .frames_of_c = {},
                                  .frame = {32, 24, 104, 0, 1},
                                  .code = {104, 112, 120, 40, 0, 0, 0, LineFormat::increments},
                                  .bytes = {16, 32},
                                  .string = {16, 32, 48, 72, 2},
                                  .type = 8,
                                  .finalizing = 16,
                                  .interpreters = 32,
                                  .interpreter = {},
                                  .lock = {}};
constexpr PythonLayout python_3_10 = [] {
  PythonLayout layout = python_3_9;
  layout.frame.instruction = 96;
  layout.frame.counted = 2;
  layout.code.line_format = LineFormat::ranges;
  return layout;
}();
constexpr PythonLayout python_3_11{.thread = {56, 152, 160, 8},
                                   .frames_of_c = {true, 8},
                                   .frame = {32, 48, 56, 69, 0},
                                   .code = {112, 128, 136, 72, 184, 0, 0, LineFormat::locations},
                                   .bytes = {16, 32},
                                   .string = {16, 32, 48, 72, 2},
                                   .type = 8,
                                   .finalizing = 24,
                                   .interpreters = 40,
                                   .interpreter = {0, 16},
                                   .lock = {true, 360, 8, 16}};
constexpr PythonLayout python_3_12{.thread = {56, 136, 144, 8},
                                   .frames_of_c = {true, 0},
                                   .frame = {0, 8, 56, 70, 0},
                                   .code = {112, 128, 136, 68, 192, 0, 92, LineFormat::locations},
                                   .bytes = {16, 32},
                                   .string = {16, 32, 40, 56, 2},
                                   .type = 8,
                                   .finalizing = 24,
                                   .interpreters = 40,
                                   .interpreter = {0, 72},
                                   .lock = {false, 384, 8, 16}};

// Where the wanted offsets are in the table for debuggers, of 64 bits each:
struct DebugOffsets {
  std::size_t lock, current_frame, thread_id, frame, code, object, bytes, string;
  bool copies;  // free-threaded, it has copies of the instructions
};
constexpr DebugOffsets debug_3_13{14, 23, 24, 28, 34, 44, 64, 67, false};
constexpr DebugOffsets debug_3_14{15, 26, 27, 31, 39, 50, 74, 77, true};
constexpr DebugOffsets debug_3_15{15, 26, 30, 39, 47, 58, 86, 89, true};
constexpr std::size_t free_threaded = 2, finalizing = 4, interpreters_head = 5,
                      next_interpreter = 8, threads_head = 9;

PythonLayout layout_by(const DebugOffsets& at, std::span<const std::uint64_t> table) {
  PythonLayout layout{};
  // Since 3.14.
  const bool has_copies = at.copies && table[free_threaded] != 0;
  layout.thread = {table[at.current_frame], table[at.thread_id], table[at.thread_id + 1],
                   table[at.current_frame - 2]};
  layout.frame = {table[at.frame + 2], table[at.frame + 1], table[at.frame + 3],
                  table[at.frame + 5], 0};
  // Five counts are between the first line and the version, which is not in the table.
  const std::uint64_t first_line = table[at.code + 5];
  layout.code = {table[at.code + 1], table[at.code + 3],   table[at.code + 4],
                 first_line,         table[at.code + 9],   has_copies ? table[at.code + 10] : 0,
                 first_line + 24,    LineFormat::locations};
  layout.type = table[at.object + 1];
  layout.bytes = {table[at.bytes + 1], table[at.bytes + 2]};
  // Non-ASCII strings have an additional length and pointer before the text.
  const std::uint64_t ascii = table[at.string + 3];
  // Free-threaded, the bits before the kind are a byte since 3.14.
  layout.string = {table[at.string + 2], table[at.string + 1], ascii, ascii + 16,
                   has_copies ? 8u : 2u};
  layout.finalizing = table[finalizing];
  layout.interpreters = table[interpreters_head];
  layout.interpreter = {table[next_interpreter], table[threads_head]};
  // The table has the lock's fields within an interpreter, from its first lock on.
  const std::uint64_t lock = table[at.lock + 1];
  layout.lock = {false, table[at.lock], table[at.lock + 4] - lock, table[at.lock + 3] - lock};
  return layout;
}

bool fits(const PythonLayout& layout) {
  const auto within = [](std::size_t bytes, std::initializer_list<std::uint64_t> all) {
    return std::ranges::all_of(all, [&](std::uint64_t at) { return at + 8 <= bytes; });
  };
  return within(thread_bytes, {layout.thread.current, layout.thread.id, layout.thread.kernels_id,
                               layout.thread.next}) &&
         within(frame_bytes, {layout.frame.code, layout.frame.previous, layout.frame.instruction,
                              layout.frame.owner}) &&
         within(code_bytes, {layout.code.file, layout.code.function, layout.code.lines,
                             layout.code.first_line, layout.code.version, layout.type}) &&
         within(string_bytes, {layout.string.length, layout.string.state}) &&
         within(size_bytes, {layout.bytes.size}) && layout.string.ascii_text <= string_bytes &&
         within(lock_bytes, {layout.lock.holder, layout.lock.locked});
}

}  // namespace

std::string version_text(unsigned long version) {
  return std::to_string(version >> 24) + "." + std::to_string((version >> 16) & 255) + "." +
         std::to_string((version >> 8) & 255);
}

bool is_debug_table(std::uint64_t first_word) {
  return std::memcmp(&first_word, "xdebugpy", sizeof first_word) == 0;
}

std::size_t size_of_frame(const PythonLayout& layout) {
  return std::max({layout.frame.code + 8, layout.frame.previous + 8, layout.frame.instruction + 8,
                   layout.frame.owner + 1});
}

std::string find_layout(unsigned long version, std::span<const std::uint64_t> table,
                        PythonLayout& layout) {
  const std::string python = "Python " + version_text(version);
  const std::string unknown =
      "the layout of " + python + " is not known, only those of 3.9 to 3.15";
  constexpr unsigned long candidate = 0xc;  // of a release candidate; earlier layouts may change
  if ((version >> 24) != 3 || ((version >> 4) & 15) < candidate) return unknown;
  const unsigned long minor = (version >> 16) & 255;
  switch (minor) {
    case 9: layout = python_3_9; return {};
    case 10: layout = python_3_10; return {};
    case 11: layout = python_3_11; return {};
    case 12: layout = python_3_12; return {};
    default: break;
  }
  if (minor < 13 || minor > 15 || table.size() < debug_words || !is_debug_table(table[0]) ||
      table[1] != version) {
    return unknown;
  }
  const DebugOffsets& at = minor == 13 ? debug_3_13 : minor == 14 ? debug_3_14 : debug_3_15;
  layout = layout_by(at, table);
  return fits(layout) ? std::string() : unknown;
}

}  // namespace gpuprof::python
