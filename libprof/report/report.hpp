// The registry of reports, and how they are combined.
//
// Each file in reports/ defines one `const Report` with the file's name; the build lists them. To
// add a report, add a file there: its Report declares option, letter, help and position, what it
// excludes, what it needs and what a run collects for it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"
#include "libprof/report/trace.hpp"

namespace gpuprof::report {

// In print order.
enum class Phase {
  values,   // event and metric results, before everything else
  summary,  // one table of time by name; excludes traces
  trace,    // one line per record; excludes summaries
  detail,   // after a summary: NVTX ranges, unified memory, …
  behind,   // PC samples, after a summary or a trace
  extra,    // topologies, analyses: on request, after a summary or a trace
  always,   // after every report, if the file has such data
};

// A section of the summary's table.
struct Section {
  std::vector<SummaryRow> (*rows)(Session&);
  std::string (*label)(const Session&);  // "GPU activities"
  std::string_view nothing = {};         // printed if there are no rows
  bool nothing_if_asked = false;         // … but only if the section's option was given
  bool by_default = false;               // in the summary unless sections were chosen
  bool per_device = false;               // in the summary per GPU
};

// A part of the trace: all chosen parts form one table.
struct Traced {
  bool TraceParts::*part;
};

// Any other report: prints if it has something to print.
struct Printer {
  void (*print)(Session&);
  bool per_device = false;  // in the summary per GPU
};

// What a run must collect for a report, in addition to what it always collects.
struct Collected {
  bool all_calls = false;     // including calls that only query
  bool dependencies = false;  // synchronizations and CUDA events
  bool pc_samples = false;
  bool pm_samples = false;
  bool sass_metrics = false;
  bool memory = false;  // as with --track-memory
};

struct Report {
  // Without dashes: "print-gpu-trace". Empty: no option; the data decides whether it is printed.
  std::string_view option = {};
  char letter = '\0';  // the option's short form, with one dash
  std::string_view help = {};
  bool ours = false;  // not a report of nvprof: C++ names are modern, help lists it separately
  Phase phase;
  int order;                      // within its phase
  const Report* needs = nullptr;  // must be chosen too, …
  std::string_view missing = {};  // … and the message if it is not
  bool top = false;               // --top applies, as to all summaries
  Collected collected = {};       // by the run whose results are printed
  // monostate: other reports print it if it was chosen (all_reports.hpp).
  std::variant<std::monostate, Section, Traced, Printer> does = {};
};

// All reports, by phase and order.
std::span<const Report* const> reports();

// Why the chosen reports cannot be combined with each other or with other options; empty if they
// can.
std::string wrong_combination(const ReportOptions& options);
// What a run must collect for the chosen reports.
Collected collected_for(const ReportOptions& options);

// The chosen sections of the summary, in order; empty for a summary per GPU.
std::vector<const Report*> chosen_sections(const Session& session);
SummarySection read_section(Session& session, const Report& report);
// The text for a section without rows; empty for none.
std::string nothing_of(const Session& session, const Report& report);
// Whether chosen_sections() includes that section.
bool shows_section(const Session& session, const Report& report);

// Whether nothing was chosen, and a person reads it.
bool is_for_a_person(const ReportOptions& options);

// Prints what `options` chose, in one read transaction, so that the result is consistent while
// another process writes. Missing tables count as empty. `page` returns the text that
// is_for_a_person() gets instead of nvprof's summary; null: there is no other.
void print_reports(store::Database& database, std::ostream& out, const ReportOptions& options,
                   std::string (*page)(Session&) = nullptr);

}  // namespace gpuprof::report
