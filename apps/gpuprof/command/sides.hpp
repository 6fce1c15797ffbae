// What gpuprof diff and gate have in common: two sides of runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/command/grammar.hpp"
#include "libprof/conclude/compare/comparison.hpp"
#include "libprof/conclude/compare/read_files.hpp"
#include "libprof/record/output_file.hpp"

namespace gpuprof::app {

struct SidesArguments {
  std::vector<std::string> files, others;
  std::string against, folder, floor;
  Options window;
  bool json = false, markdown = false;
  compare::Rules rules;
};

void declare_sides(Grammar& grammar, SidesArguments& arguments);

// Reads the runs of profiles and of files of runs. Returns the exit code, like with_profile().
int read_files(const std::vector<compare::FileOfRuns>& files, const Options& window);

// Appends the runs of the baseline --against.
void read_baseline(const SidesArguments& arguments, std::vector<compare::Run>& runs);

// Reads the runs that the arguments name. Returns the exit code.
int read_sides(SidesArguments& arguments, std::vector<compare::Run>& a,
               std::vector<compare::Run>& b);

// For writing a file of runs, which `replace` replaces, as it does empty files.
record::FileRules runs_file_rules(bool replace);

// Compares, prints, and returns the exit code.
int compare_sides(SidesArguments& arguments, std::vector<compare::Run> a,
                  std::vector<compare::Run> b, compare::Comparison& result);

// For completion.
std::vector<std::string> sides_values(std::string_view name);

// How it judges, for the help.
extern const std::string_view how_it_judges;

}  // namespace gpuprof::app
