// The reports there are, and how they are put together.
//
// Each file of reports/ defines one `const Report` of the file's name; the build lists them. A new
// report is a new file there: option, letter, help and place, what it excludes, what it needs and
// what a run collects for it come from its Report.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"
#include "libprof/report/trace.hpp"

namespace gpuprof::report {

// In the order in which phases are printed.
enum class Phase {
  values,   // event and metric results, before everything else
  summary,  // one table of time by name; excludes traces
  trace,    // one line per record; excludes summaries
  detail,   // behind a summary: NVTX ranges, unified memory, …
  behind,   // PC samples, behind a summary or a trace
  extra,    // topologies, analyses: on request, behind a summary or a trace
  always,   // behind every report, when the file has such data
};

// A section of the summary's table.
struct Section {
  std::vector<SummaryRow> (*rows)(Session&);
  std::string (*label)(const Session&);  // "GPU activities"
  std::string_view nothing = {};         // said when there are no rows
  bool nothing_if_asked = false;         // … and only when the section's option was given
  bool by_default = false;               // the summary has it unless sections were chosen
  bool per_device = false;               // the summary per GPU has it
};

// A part of the trace: all that were chosen are one table.
struct Traced {
  bool TraceParts::*part;
};

// Any other report: prints if there is something to print.
struct Printer {
  void (*print)(Session&);
  bool per_device = false;  // the summary per GPU has it
};

// What a run has to collect for a report, besides what it collects anyway.
struct Collected {
  bool all_calls = false;     // calls that only ask too
  bool dependencies = false;  // synchronizations and CUDA events
  bool pc_samples = false;
  bool pm_samples = false;
  bool sass_metrics = false;
};

struct Report {
  // Without dashes: "print-gpu-trace". Empty: there is no option, the report decides by the data.
  std::string_view option = {};
  char letter = '\0';  // the option's, with one dash
  std::string_view help = {};
  bool ours = false;  // no report of nvprof: C++ names are modern, help lists it apart
  Phase phase;
  int order;                      // in its phase
  const Report* needs = nullptr;  // has to be chosen too, …
  std::string_view missing = {};  // … and what is said if it was not
  bool top = false;               // --top is for it, as for all summaries
  Collected collected = {};       // by the run that it is printed of
  // Nothing: it is printed by others, which ask whether it was chosen (all_reports.hpp).
  std::variant<std::monostate, Section, Traced, Printer> does = {};
};

// All of them, by phase and order.
std::span<const Report* const> reports();

// Why the reports that were chosen cannot be printed together, or with the other options; empty:
// they can.
std::string wrong_combination(const Options& options);
// What a run has to collect for those that were chosen.
Collected collected_for(const Options& options);

// The sections of the summary that were chosen, in their order; none of a summary per GPU.
std::vector<const Report*> chosen_sections(const Session& session);
SummarySection read_section(Session& session, const Report& report);
// What a section says when it has no rows; empty: nothing.
std::string nothing_of(const Session& session, const Report& report);
// Whether that section is one of them.
bool shows_section(const Session& session, const Report& report);

// Prints what `options` chose from the database, in one read transaction, so that it is right
// beside a process that writes. Tables that are missing count as empty.
void print_reports(store::Database& database, std::ostream& out, const Options& options);

}  // namespace gpuprof::report
