// Shared by slice, truncate, finish and export: writing a new profile from an old one.
#pragma once

#include <string>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/exchange/export/excerpt.hpp"

namespace gpuprof::app {

struct ExcerptJob {
  std::string input;
  Options file;           // the new profile's name, which may have placeholders, and creation
  bool in_place = false;  // the new profile replaces the old one
  std::vector<std::string> keep;  // words for ExcerptOptions::keep; empty: all
  exporting::ExcerptOptions options;
};

// Accepts the options for the new profile's location and creation.
void take_file_options(Grammar& grammar, ExcerptJob& job);

// Returns the exit code. The output gets its name only when it is complete.
int write_excerpt(ExcerptJob job);

}  // namespace gpuprof::app
