// A function of Python and the line that it is in, read out of its code object. `read(address, to,
// bytes)` is how: it returns whether all of them could be read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "libprof/python/layout.hpp"
#include "libprof/python/lines.hpp"

namespace gpuprof::python {

// Texts are padded with zeros.
struct PythonFrame {
  std::array<char, 256> file{};      // if too long, its end
  std::array<char, 128> function{};  // qualified; if too long, its beginning
  std::uint32_t line = 0;            // 0: unknown
};
// The same for frames that are equal, never 0.
std::uint64_t id_of(const PythonFrame& frame);

// Addresses of the types of the objects that are read.
struct PythonTypes {
  std::uint64_t code = 0, string = 0, bytes = 0;
};

// The location table of a code object.
struct PythonLineTable {
  std::uint64_t code, text, size;
  std::int64_t first_line;
  LineFormat format;
};

constexpr bool is_pointer(std::uint64_t value) { return value >= 4096 && value % 8 == 0; }

// 0: it is not among the bytes.
template <class T>
T field(std::span<const std::byte> bytes, std::uint64_t at) {
  T value{};
  if (at + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

// Code at the same address may be another's later: what only this code object has, as far as one
// can see from its `head`.
std::uint64_t identity_of(const PythonLayout& layout, std::span<const std::byte> head);

// --- texts

// Returns how many bytes the character has.
std::size_t utf8(std::uint32_t c, char* to);

inline constexpr std::string_view ellipsis = "…";

// Which part is kept of a string that is too long.
enum class Keep { beginning, end };

struct PythonText {
  std::uint64_t text = 0, length = 0;
  unsigned kind = 1;  // bytes per character
  bool ascii = false;
};

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

// --- functions

template <std::size_t room, class Read>
bool read_text(const PythonLayout& layout, const PythonTypes& types, std::uint64_t string,
               Keep keep, std::array<char, room>& to, Read&& read) {
  std::array<std::byte, string_bytes> bytes;
  if (!is_pointer(string) || !read(string, bytes.data(), layout.string.ascii_text) ||
      field<std::uint64_t>(bytes, layout.type) != types.string) {
    return false;
  }
  const auto state = field<std::uint32_t>(bytes, layout.string.state);
  const unsigned kind = state >> layout.string.kind;
  const bool compact = (kind >> 3) & 1;
  PythonText text;
  text.ascii = (kind >> 4) & 1;
  text.kind = kind & 7;
  text.length = field<std::uint64_t>(bytes, layout.string.length);
  text.text = string + (text.ascii ? layout.string.ascii_text : layout.string.text);
  return compact && (text.kind == 1 || text.kind == 2 || text.kind == 4) &&
         text.length <= INT32_MAX && copy_text(read, text, keep, to);
}

// Free-threaded, each thread but the first runs a copy of the instructions of its own. Where those
// begin that this instruction is one of; 0: it is in none. The list of them may be replaced, so
// what is there may not be what was: `read` has to bear that, for known objects too.
template <class Read>
std::uint64_t instructions_of(const PythonLayout& layout, std::uint64_t code, std::uint64_t size,
                              std::uint64_t instruction, Read&& read) {
  const auto has_it = [&](std::uint64_t begin) { return instruction - begin < size; };
  const std::uint64_t own = code + layout.code.instructions;
  if (layout.code.copies == 0 || has_it(own)) return own;
  constexpr std::uint64_t most_copies = 1 << 14;
  std::uint64_t list = 0, count = 0;
  if (!read(code + layout.code.copies, &list, sizeof list) || !is_pointer(list) ||
      !read(list, &count, sizeof count) || count > most_copies) {
    return 0;
  }
  std::array<std::uint64_t, 64> piece;
  for (std::uint64_t done = 0; done < count; done += piece.size()) {
    const auto some = std::span(piece).first(std::min<std::uint64_t>(piece.size(), count - done));
    if (!read(list + (1 + done) * sizeof list, some.data(), some.size_bytes())) return 0;
    const auto found = std::ranges::find_if(some, has_it);
    if (found != some.end()) return *found;
  }
  return 0;
}

// `find_line(table, unit, line)`: the line of an instruction, by its index in code units of two
// bytes; returns whether the table could be read. `read_list`: as `read`, for what may be replaced.
template <class Read, class FindLine, class ReadList>
bool read_function(const PythonLayout& layout, const PythonTypes& types, std::uint64_t code,
                   std::uint64_t instruction, PythonFrame& function, Read&& read,
                   FindLine&& find_line, ReadList&& read_list) {
  std::array<std::byte, code_bytes> head;
  if (!is_pointer(code) || !read(code, head.data(), head.size()) ||
      field<std::uint64_t>(head, layout.type) != types.code) {
    return false;
  }
  function = {};
  if (!read_text(layout, types, field<std::uint64_t>(head, layout.code.file), Keep::end,
                 function.file, read) ||
      !read_text(layout, types, field<std::uint64_t>(head, layout.code.function), Keep::beginning,
                 function.function, read)) {
    return false;
  }
  std::array<std::byte, size_bytes> bytes;
  const auto table = field<std::uint64_t>(head, layout.code.lines);
  if (!is_pointer(table) || !read(table, bytes.data(), layout.bytes.size + 8) ||
      field<std::uint64_t>(bytes, layout.type) != types.bytes) {
    return false;
  }
  constexpr std::uint64_t longest_table = 1 << 20;
  const auto table_size = std::min(field<std::uint64_t>(bytes, layout.bytes.size), longest_table);
  const auto first_line = field<std::int32_t>(head, layout.code.first_line);
  // Code and bytes begin alike.
  const auto size = 2 * field<std::uint64_t>(head, layout.bytes.size);
  const std::uint64_t instructions = instructions_of(layout, code, size, instruction, read_list);
  if (instructions == 0) return true;  // the line is not known
  if (instruction < instructions) {    // it has not begun
    function.line = first_line > 0 ? static_cast<std::uint32_t>(first_line) : 0;
    return true;
  }
  return find_line(PythonLineTable{code, table + layout.bytes.text, table_size, first_line,
                                   layout.code.line_format},
                   (instruction - instructions) / 2, function.line);
}

template <class Line, class Read>
bool search_line(const PythonLineTable& table, Line line, std::uint32_t& found, Read&& read) {
  std::array<std::uint8_t, 512> piece;
  for (std::uint64_t done = 0; done < table.size;) {
    const std::uint64_t size = std::min<std::uint64_t>(piece.size(), table.size - done);
    if (!read(table.text + done, piece.data(), size)) return false;
    if (!line.wants(std::span(piece).first(size))) break;
    done += size;
  }
  found = line.line();
  return true;
}

// Reads the table from its beginning.
template <class Read>
bool search_line(const PythonLineTable& table, std::uint64_t unit, std::uint32_t& found,
                 Read&& read) {
  if (table.format == LineFormat::locations) {
    return search_line(table, PythonLine(table.first_line, unit), found, read);
  }
  const bool increments = table.format == LineFormat::increments;
  return search_line(table, PythonLineByPairs(table.first_line, unit, increments), found, read);
}

}  // namespace gpuprof::python
