// Standard output of all commands: std::cout.
#pragma once

#include <functional>

namespace gpuprof::reading {
class ProfileFile;
}

namespace gpuprof::app {

// Once, before anything is printed: from here on std::cout throws when it cannot be written.
void take_standard_output();

// Calls print(), which writes to std::cout, and sees to it that all of it arrives. Returns the exit
// code: reader_gone where the reader has closed its end. Throws Error where there is no room.
int print_to_standard_output(const std::function<void()>& print);

// What a reader should know of a file that was printed, to standard error. Returns the exit code.
int tell_notes(const reading::ProfileFile& file);

}  // namespace gpuprof::app
