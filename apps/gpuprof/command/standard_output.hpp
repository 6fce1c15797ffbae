// Standard output of all commands: std::cout.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace gpuprof::reading {
class ProfileFile;
}

namespace gpuprof::app {

// Once, before anything is printed: from here on std::cout throws when it cannot be written.
void take_standard_output();

// Calls print(), which writes to std::cout, and sees to it that all of it arrives. Returns the exit
// code: reader_gone where the reader has closed its end. Throws Error where there is no room.
int print_to_standard_output(const std::function<void()>& print);

// Whether the name says that a file goes to standard output.
inline bool is_standard_output(const std::string& name) { return name == "-"; }
// Throws Error where that is a terminal, which is no place for what only programs read.
void refuse_terminal();
// Copies the file there. Returns and throws as above.
int copy_to_standard_output(const std::string& path);

// Characters in a line of the terminal that standard output is; 0: it is none, or does not say.
std::size_t terminal_width();
// The same between two limits, and 120 where there is none.
std::size_t line_width(std::size_t least, std::size_t most);

// What a reader should know of a file that was printed, to standard error. Returns the exit code.
int tell_notes(const reading::ProfileFile& file);

}  // namespace gpuprof::app
