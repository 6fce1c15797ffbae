// Options for the format of reports.
#include <climits>

#include "apps/gpuprof/option/setters.hpp"

namespace gpuprof::app {
namespace {

Set layout(report::Layout layout) {
  return [=](Options& options, const std::string&) {
    report::ReportOptions& reports = options.reports;
    reports.two_layouts |= reports.layout != report::Layout::text && reports.layout != layout;
    reports.layout = layout;
    return std::optional<Refusal>();
  };
}

std::optional<Refusal> set_unit(Options& options, const std::string& value) {
  using report::Unit;
  options.reports.unit = value == "s"     ? Unit::s
                         : value == "ms"  ? Unit::ms
                         : value == "us"  ? Unit::us
                         : value == "ns"  ? Unit::ns
                         : value == "col" ? Unit::column
                                          : Unit::automatic;
  return {};
}

std::optional<Refusal> set_demangling(Options& options, const std::string& value) {
  using report::NameStyle;
  if (value == "on") options.reports.names.reset();
  if (value == "off") options.reports.names = NameStyle::mangled;
  if (value == "modern") options.reports.names = NameStyle::modern;
  if (value == "nvprof") options.reports.names = NameStyle::nvprof;
  return {};
}

}  // namespace

std::vector<Option> format_options() {
  return {
      {.name = "csv",
       .optional = "plain",
       .help = "Comma-separated values, as nvprof has them or plain: one line of names\n"
               "plain: the rows that --json has, as one table, with -i on standard output.",
       .is = common | once,
       .set =
           [](Options& options, const std::string& value) {
             using enum report::Layout;
             return layout(value.empty() ? csv : plain_csv)(options, value);
           }},
      {.name = "json",
       .help = "One JSON document; with -i on standard output",
       .is = ours | common | once,
       .set = layout(report::Layout::json)},
      {.name = "nvprof",
       .help =
           "Print the summary as nvprof does, on a terminal too\n"
           "There it is a page otherwise: where the time went, what can be mended, ten kernels.",
       .is = ours,
       .set = flag([](Options& o) { o.reports.nvprof = true; })},
      {.name = "normalized-time-unit",
       .letter = 'u',
       .argument = "s|ms|us|ns|col|auto",
       .help = "Unit of times; col: one for each column, auto: what fits the value",
       .is = common,
       .set = set_unit},
      {.name = "demangling",
       .argument = "on|off|modern|nvprof",
       .help = "C++ names of kernels\n"
               "on: as nvprof writes them in its reports, readable where nvprof leaves them "
               "mangled and the file is gpuprof's own, unambiguous in reports nvprof has not and "
               "in JSON; off: mangled; modern and nvprof: that style everywhere.",
       .is = common,
       .set = set_demangling},
      {.name = "stats",
       .help = "Median, standard deviation and percentiles in summaries",
       .is = ours | common,
       .set = flag([](Options& o) { o.reports.statistics = true; })},
      {.name = "top",
       .argument = "N",
       .help = "Only the first N rows of each section of a summary",
       .is = ours | common | once,
       .set = number(1, INT_MAX, [](Options& o) -> int& { return o.reports.top; })},
      {.name = "source",
       .help = "The source text of lines in --print-pc-sampling and --print-sass-metrics\n"
               "The profile names the files: do not use this for a stranger's profile if you pass "
               "the report on. Only files that are named like source files are read.",
       .is = ours | once,
       .set = flag([](Options& o) { o.reports.source = true; })},
      {.name = "source-root",
       .argument = "FOLDER",
       .help = "The same, with source files looked for in this folder and nowhere else\n"
               "By as much of the end of a file's name as there is beneath the folder.",
       .is = ours | once,
       .set =
           [](Options& options, const std::string& value) {
             options.reports.source = true;
             options.reports.source_root = value;
             return value.empty() ? std::optional<Refusal>({.takes = "a folder"})
                                  : std::optional<Refusal>();
           }},
      {.name = "openacc-summary-mode",
       .argument = "exclusive|inclusive",
       .help = "OpenACC times without (exclusive) or with nested constructs",
       .set = equals("inclusive", [](Options& o) -> bool& { return o.reports.openacc_inclusive; })},
      {.name = "print-openacc-constructs",
       .help = "Name the parent construct in OpenACC reports",
       .set = flag([](Options& o) { o.reports.openacc_constructs = true; })},
  };
}

}  // namespace gpuprof::app
