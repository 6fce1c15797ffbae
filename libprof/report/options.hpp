// The user's options for reports.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>

#include "libprof/read/profile.hpp"
#include "libprof/report/number.hpp"

namespace gpuprof::report {

using reading::Filter;
using reading::NameStyle;

// plain_csv: the rows of JSON as CSV, with one line of column names.
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
  bool innermost_only = false;
  bool of_host = false;  // of the samples that gpuprof took, too (HOST_SAMPLE)
};

struct ReportOptions {
  // The chosen reports, by option name ("print-gpu-trace"); empty: the summary.
  std::set<std::string> chosen = {};
  Layout layout = Layout::text;
  bool two_layouts = false;  // the user asked for two layouts
  Unit unit = Unit::automatic;
  std::optional<NameStyle> names = {};  // nullopt: each report's default
  bool openacc_inclusive = false;
  bool openacc_constructs = false;
  CpuOptions cpu = {};
  bool statistics = false;  // --stats: median, deviation and percentiles in summaries
  int top = 0;              // rows per section of a summary; 0: all
  Filter filter = {};
  std::string prefix = "======== ";  // before headings and warnings; "==pid== " in live runs
  bool terminal = false;             // enables color and progress
  bool for_a_person = false;         // on any terminal: the summary is a page, unless `nvprof`
  bool nvprof = false;               // --nvprof: on a terminal too, the summary is nvprof's
  int colours = 0;                   // of the terminal: 0, 16 or 256
  std::size_t columns = 0;           // of the terminal; 0: not known
  std::string file = {};             // the profile as the user named it; empty: it is not kept
  bool blocks = false;               // charts use Unicode block elements, otherwise ASCII
  bool source = false;               // --source: print lines of source files named by the profile
  std::string source_root = {};      // … only files below this folder; empty: by full path
};

}  // namespace gpuprof::report
