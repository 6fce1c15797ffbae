// Files of runs: what diff and gate need of them, without their records. docs/json.md describes the
// format.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "libprof/conclude/compare/run.hpp"

namespace gpuprof::compare {

// Increase it when existing readers would misread the file; see docs/json.md.
inline constexpr int runs_file_version = 1;

// How the text of such a file begins.
inline constexpr std::string_view runs_begin = R"({"format":"gpuprof runs")";

// At most 100,000 bytes per run: kernels that take the least of the time are left out where that is
// not enough, see Run::least_kernel. There is at least one run.
std::string runs_text(const std::vector<Run>& runs);

// The runs of a file, which may be a stranger's. Throws gpuprof::Error, which names the file.
std::vector<Run> read_runs_file(const std::string& path);

// Baselines: files of runs with a name, in a folder.

// The folder for `given`; if that is empty, $GPUPROF_BASELINES, or .gpuprof/baselines.
std::string baseline_folder(const std::string& given);
// Throws gpuprof::Error for a name that could be something else than a file's.
std::string baseline_path(const std::string& folder, const std::string& name);
// Sorted, without files that have other names. Empty if there is no folder.
std::vector<std::string> baseline_names(const std::string& folder);

}  // namespace gpuprof::compare
