// What a user asked of the reports.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libprof/read/profile.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::report {

using reading::Filter;
using reading::NameStyle;

// plain_csv: the rows of JSON as CSV, with one line of names.
enum class Layout { text, csv, json, plain_csv };

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
  bool blocks = false;               // charts of Unicode's block elements, else ASCII
  bool source = false;               // --source: lines of source files that the profile names
  std::string source_root = {};      // … only beneath this folder; empty: where they were
};

}  // namespace gpuprof::report
