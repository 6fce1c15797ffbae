// Standard output (std::cout) of all commands.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace gpuprof::app {

// Called once, before any output: makes std::cout throw when it cannot be written.
void take_standard_output();

// Calls print(), which writes to std::cout, and makes sure that all of it is written. Returns the
// exit code: reader_gone if the reader has closed its end. Throws Error if the disk is full.
int print_to_standard_output(const std::function<void()>& print);

// Whether the name directs a file to standard output.
inline bool is_standard_output(const std::string& name) { return name == "-"; }
// Throws Error if standard output is a terminal, for machine-readable output.
void refuse_terminal();
// Copies the file to standard output. Returns and throws like print_to_standard_output().
int copy_to_standard_output(const std::string& path);

// The width in characters if the descriptor is a terminal; 0 if it is not, or the width is unknown.
std::size_t terminal_width(int descriptor = 1);
// The terminal width clamped to these limits; 120 if there is none.
std::size_t line_width(std::size_t least, std::size_t most);

}  // namespace gpuprof::app
