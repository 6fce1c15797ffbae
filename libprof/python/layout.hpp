// Where CPython 3.9 to 3.15 keep what is read of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace gpuprof::python {

// How a code object says which line an instruction is in.
enum class LineFormat : std::uint8_t { locations, ranges, increments };  // 3.11, 3.10, 3.9

// Offsets of fields, in bytes.
struct PythonLayout {
  struct {
    std::uint64_t current;  // frame; if frames_of_c is set, what contains it
    std::uint64_t id;       // pthread_t
    std::uint64_t kernels_id, next;
  } thread;
  struct {
    bool there;
    std::uint64_t frame;
  } frames_of_c;
  struct OfFrame {
    std::uint64_t code, previous, instruction;
    std::uint64_t owner;  // 0: there is no such field
    // Instructions are counted, in this many bytes; 0: `instruction` is an address.
    std::int64_t counted;
  } frame;
  struct {
    std::uint64_t file, function, lines, first_line, instructions;
    std::uint64_t copies;   // a list of the instructions' copies; 0: there are none
    std::uint64_t version;  // counts up with each code object; 0: there is no such field
    LineFormat line_format;
  } code;
  struct {
    std::uint64_t size, text;
  } bytes;
  struct {
    std::uint64_t length, state, ascii_text, text;
    unsigned kind;  // the bit of `state` where it begins; others follow it
  } string;
  std::uint64_t type;          // within an object
  std::uint64_t finalizing;    // within the runtime: the thread that ends it; 0: none does
  std::uint64_t interpreters;  // within the runtime: the last one that was made
  struct {
    std::uint64_t next, threads;
  } interpreter;
  struct {
    bool of_runtime;   // it is part of the runtime; otherwise the interpreter has its address
    std::uint64_t at;  // of it, or of its address
    std::uint64_t holder, locked;
  } lock;
};

// The most that is read of each.
constexpr std::size_t frame_bytes = 112, thread_bytes = 256, code_bytes = 176, string_bytes = 64,
                      size_bytes = 48, lock_bytes = 208;
// From 3.13 on the runtime begins with a table of offsets for debuggers, of this many words.
constexpr std::size_t debug_words = 96;

// Py_Version, as text.
std::string version_text(unsigned long version);

// Whether the runtime of this version has that table.
constexpr bool has_debug_table(unsigned long version) { return (version >> 16) > 0x030c; }
bool is_debug_table(std::uint64_t first_word);

// `table`: the runtime's, if it has one; empty: it has none, or it cannot be read. Returns a
// message if the layout is not known.
std::string find_layout(unsigned long version, std::span<const std::uint64_t> table,
                        PythonLayout& layout);

// What is read of a frame.
std::size_t size_of_frame(const PythonLayout& layout);

}  // namespace gpuprof::python
