// The rows of an Arrow stream as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <string>

#include "libprof/c_api/gpuprof.h"

inline void demand(bool holds) {
  if (!holds) throw std::runtime_error("not an Arrow stream as libgpuprof makes them");
}

// A value of a column as text; NULL is "-".
inline std::string value(const ArrowSchema& schema, const ArrowArray& array, std::int64_t row) {
  const auto valid = [](const ArrowArray& of, std::int64_t at) {
    const auto* bits = static_cast<const std::uint8_t*>(of.n_buffers > 0 ? of.buffers[0] : nullptr);
    return !bits || (bits[at / 8] >> at % 8 & 1);
  };
  const std::string format = schema.format;
  if (format == "n" || !valid(array, row)) return "-";
  const auto bytes = [&](const ArrowArray& of, std::int64_t at) {
    const auto* ends = static_cast<const std::int64_t*>(of.buffers[1]);
    return std::string(static_cast<const char*>(of.buffers[2]) + ends[at],
                       static_cast<std::size_t>(ends[at + 1] - ends[at]));
  };
  if (schema.dictionary) {
    const std::int32_t index = static_cast<const std::int32_t*>(array.buffers[1])[row];
    demand(index < array.dictionary->length);
    return bytes(*array.dictionary, index);
  }
  if (format == "l") return std::to_string(static_cast<const std::int64_t*>(array.buffers[1])[row]);
  if (format == "i") return std::to_string(static_cast<const std::int32_t*>(array.buffers[1])[row]);
  if (format == "g") {
    char text[40];
    const double real = static_cast<const double*>(array.buffers[1])[row];
    return "r" + std::string(text, std::to_chars(text, std::end(text), real).ptr);
  }
  if (format == "b") {
    return static_cast<const std::uint8_t*>(array.buffers[1])[row / 8] >> row % 8 & 1 ? "1" : "0";
  }
  demand(format == "Z");
  return "x" + bytes(array, row);
}

// "name:format name:format" and then the rows: values with "|" between them, a blank after each
// row.
inline std::string drained(ArrowArrayStream& stream) {
  ArrowSchema schema{};
  demand(stream.get_schema(&stream, &schema) == 0);
  std::string text;
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& column = *schema.children[i];
    text += std::string(column.name) + ":" + (column.dictionary ? "t" : column.format) + " ";
  }
  while (true) {
    ArrowArray chunk{};
    demand(stream.get_next(&stream, &chunk) == 0);
    if (!chunk.release) break;
    for (std::int64_t row = 0; row < chunk.length; ++row) {
      for (std::int64_t i = 0; i < chunk.n_children; ++i) {
        text += (i > 0 ? "|" : "") + value(*schema.children[i], *chunk.children[i], row);
      }
      text += ' ';
    }
    chunk.release(&chunk);
  }
  schema.release(&schema);
  stream.release(&stream);
  if (!text.empty()) text.pop_back();
  return text;
}
