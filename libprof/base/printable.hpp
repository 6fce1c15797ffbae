// Text from a program or a file, made safe to show: nothing in it can control a terminal or fake a
// line.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// Control characters, bytes that are not UTF-8, and characters that change the writing direction
// are escaped as \x1b and so on, byte by byte. Everything else is kept.
std::string printable(std::string_view text);
void append_printable(std::string& to, std::string_view text);

// The same for text of several lines, each of which was made printable at its source.
std::string printable_lines(std::string_view text);

}  // namespace gpuprof
