// The reports there are, and how they are put together.
//
// Each file of reports/ defines one `const Report` of the file's name; the build lists them. A new
// report is a new file there: option, help and place come from its Report.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"

namespace gpuprof::report {

// In the order in which phases are printed.
enum class Phase {
  values,   // event and metric results, before everything else
  summary,  // a section of the summary table: `rows`
  trace,    // one line per record; excludes summaries
  detail,   // behind a summary: NVTX ranges, unified memory, …
  behind,   // PC samples, behind a summary or a trace
  extra,    // topologies, analyses: on request, behind a summary or a trace
  always,   // behind every report, when the file has such data
};

struct Report {
  // Without dashes: "print-gpu-trace". Empty: there is no option, the report decides by the data.
  std::string_view option;
  std::string_view help;
  Phase phase;
  int order;  // in its phase
  // Phase::summary: the section's rows, its label ("GPU activities"), what is said when there are
  // none, and whether the default summary and the summary per GPU have it.
  std::vector<SummaryRow> (*rows)(Session&) = nullptr;
  std::string (*label)(const Session&) = nullptr;
  std::string_view nothing = {};
  bool nothing_if_asked = false;  // … and that only when the section's option was given
  bool by_default = false;
  bool per_device = false;
  // The other phases: prints, if there is something to print and it is wanted.
  void (*print)(Session&) = nullptr;
  bool ours = false;  // no report of nvprof: C++ names are modern, help lists it apart
};

// All of them, by phase and order.
std::span<const Report* const> reports();

// The sections of the summary that were chosen, in their order; none of a summary per GPU.
std::vector<const Report*> chosen_sections(const Session& session);
SummarySection read_section(Session& session, const Report& report);
// What a section says when it has no rows; empty: nothing.
std::string nothing_of(const Session& session, const Report& section);
// Whether the section of that option is one of them.
bool shows_section(const Session& session, std::string_view option);

// Prints what `options` chose from the database, in one read transaction, so that it is right
// beside a process that writes. Tables that are missing count as empty.
void print_reports(store::Database& database, std::ostream& out, const Options& options);

}  // namespace gpuprof::report
