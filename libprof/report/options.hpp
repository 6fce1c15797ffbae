// What a user asked of the reports.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libprof/report/number.hpp"

namespace gpuprof::report {

// plain_csv: the rows of JSON as CSV, with one line of names.
enum class Layout { text, csv, json, plain_csv };

// How C++ names are written. nvprof: as nvprof 11.8's demangler does, which leaves newer C++
// mangled; modern: unambiguous; compatible: nvprof's way, and in files of ours modern where that
// leaves a name mangled; mangled: as they are.
enum class NameStyle { nvprof, modern, compatible, mangled };

enum class CpuMode { flat, top_down, bottom_up };

struct CpuOptions {
  CpuMode mode = CpuMode::bottom_up;
  int max_depth = 0;     // 0: no limit
  double threshold = 0;  // percent
  int frequency = 100;   // Hz, as printed
  bool by_instruction = false;
  bool show_library = false;
  bool show_ccff = false;
  bool by_thread = false;
};

// Which records reports look at; empty: all of them.
struct Filter {
  std::string kernels;                // regular expression, searched in readable kernel names
  std::vector<std::int64_t> devices;  // of GPU work
  std::optional<std::int64_t> from;   // ns after the first record; records that begin then or later
  std::optional<std::int64_t> to;     // … and before this
  std::string from_range, to_range;   // or where the first NVTX range of this name begins, ends
  bool check = false;                 // refuse devices that are not there
};

struct Options {
  // The reports chosen, by the names of their options ("print-gpu-trace"); empty: the summary.
  std::set<std::string> chosen = {};
  Layout layout = Layout::text;
  bool two_layouts = false;  // were asked for
  Unit unit = Unit::automatic;
  std::optional<NameStyle> names = {};  // none: each report's own default
  bool openacc_inclusive = false;
  bool openacc_constructs = false;
  CpuOptions cpu = {};
  bool statistics = false;  // --stats: median, deviation and percentiles in summaries
  int top = 0;              // rows per section of a summary; 0: all
  Filter filter = {};
  std::string prefix = "======== ";  // before headings and warnings; "==pid== " in live runs
  bool terminal = false;             // colour and progress
};

}  // namespace gpuprof::report
