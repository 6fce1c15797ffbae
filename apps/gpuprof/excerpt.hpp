// What slice, truncate and export have in common: a new profile from an old one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "libprof/export/excerpt.hpp"
#include "libprof/store/output_file.hpp"

namespace gpuprof::app {

struct ExcerptJob {
  std::string input;
  std::string output;  // may hold placeholders
  store::FileRules files;
  bool quiet = false;
  std::vector<std::string> keep;  // words for ExcerptOptions::keep; empty: all
  exporting::ExcerptOptions options;
};

// Where the new profile goes and how its file is made.
void add_file_options(CLI::App& app, ExcerptJob& job);

// Returns the exit code. The output has its name only when it is complete.
int write_excerpt(ExcerptJob job);

}  // namespace gpuprof::app
