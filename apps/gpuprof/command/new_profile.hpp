// What slice, truncate, finish and export have in common: a new profile from an old one.
#pragma once

#include <string>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/export/excerpt.hpp"

namespace gpuprof::app {

struct ExcerptJob {
  std::string input;
  Options file;           // the new one: its name, which may hold placeholders, and how it is made
  bool in_place = false;  // the new one takes the name of the old one
  std::vector<std::string> keep;  // words for ExcerptOptions::keep; empty: all
  exporting::ExcerptOptions options;
};

// Where the new profile goes and how its file is made.
void take_file_options(Grammar& grammar, ExcerptJob& job);

// Returns the exit code. The output has its name only when it is complete.
int write_excerpt(ExcerptJob job);

}  // namespace gpuprof::app
