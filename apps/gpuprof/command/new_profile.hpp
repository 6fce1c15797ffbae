// New files that are made from a profile.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/exchange/export/excerpt.hpp"
#include "libprof/record/output_file.hpp"

namespace gpuprof::app {

// A file that is made from a profile.
struct NewFile {
  std::string input, output;
  record::FileRules rules;
  bool quiet = false;
  bool in_place = false;  // it replaces the profile
};

// Calls `write` for an empty file, and again if the profile turns out to be damaged; then, if it
// was not interrupted, `written` for the file, which has its name by then, and prints the lines
// that it returns. Returns the exit code.
int write_new_file(
    const NewFile& file,
    const std::function<void(const OpenProfile&, const record::OutputFile&)>& write,
    const std::function<std::vector<std::string>(const record::OutputFile&)>& written);

// Shared by slice, truncate, finish and export: writing a new profile from an old one.
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
int write_excerpt(ExcerptJob& job);

}  // namespace gpuprof::app
