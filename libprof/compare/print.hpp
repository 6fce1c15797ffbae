// A comparison as text, Markdown and JSON.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "libprof/compare/comparison.hpp"
#include "libprof/report/options.hpp"

namespace gpuprof::compare {

// The verdict in a sentence or two.
std::string headline(const Comparison& sides);

void print_text(const Comparison& sides, std::ostream& out, const report::ReportOptions& options);
// At most 60 KB, for a pull request; lists of kernels are folded.
void print_markdown(const Comparison& sides, std::ostream& out);
// The document of docs/json.md.
void print_json(const Comparison& sides, std::ostream& out);

}  // namespace gpuprof::compare
