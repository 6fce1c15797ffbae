// A comparison as text, Markdown and JSON.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/conclude/compare/comparison.hpp"
#include "libprof/report/options.hpp"

namespace gpuprof::compare {

// The verdict in a sentence or two.
std::string headline(const Comparison& sides);
// What else there is to say in a sentence each.
std::vector<std::string> remarks(const Comparison& sides);

void print_text(const Comparison& sides, std::ostream& out, const report::ReportOptions& options);
// At most 60 KB, for a pull request; lists of kernels are folded.
void print_markdown(const Comparison& sides, std::ostream& out);
// The document of docs/diff.md.
void print_json(const Comparison& sides, std::ostream& out);
// JUnit's XML: a test case for the step, each rule and each part of the step. Only the first two
// can fail, when gate does.
void print_junit(const Comparison& sides, std::ostream& out);
// How it begins.
inline constexpr std::string_view junit_begin =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
    "<testsuite name=\"gpuprof gate\"";

// How much runs of one program differ: the step, its parts and its kernels, in halves of the runs
// and in single runs.
void print_floor(const std::vector<Run>& runs, std::ostream& out,
                 const report::ReportOptions& options);

void print_baselines(const std::vector<std::pair<std::string, std::vector<Run>>>& baselines,
                     std::ostream& out, const report::ReportOptions& options);
// Baselines in their order, each compared with the one before it.
void print_history(const std::vector<std::pair<std::string, std::vector<Run>>>& baselines,
                   const Rules& rules, std::ostream& out, const report::ReportOptions& options);

}  // namespace gpuprof::compare
