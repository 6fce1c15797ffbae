// Text of a program or a file, for people: nothing in it can steer a terminal or fake a line.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// Control characters, bytes that are no UTF-8, and what turns the direction of writing become \x1b
// and the like, byte by byte. All else stays as it is.
std::string printable(std::string_view text);
void append_printable(std::string& to, std::string_view text);

// The same for text of several lines, each of which was made printable where it came from.
std::string printable_lines(std::string_view text);

}  // namespace gpuprof
