// gpuprof report: a run on a single page that can be mailed.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/text_file.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/read/record_count.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::app {
namespace {

struct ReportArguments {
  std::string file, html, markdown;
  bool all_records = false;
  Options output;
};

// Writes to the file of that name, or to standard output.
void write(const std::string& name, std::string_view begins, const std::string& text,
           const ReportArguments& arguments) {
  if (name.empty()) return;
  if (is_standard_output(name)) {
    std::cout << text << std::flush;
    return;
  }
  record::OutputFile made(expand_name(name, getpid()), {.overwrite = arguments.output.overwrite,
                                                        .mode = arguments.output.file_mode,
                                                        .begins = begins});
  write_text(made, text);
  if (!arguments.output.quiet) {
    std::fprintf(stderr, "gpuprof: %s: %zu bytes\n", made.name().c_str(), text.size());
  }
}

int report(ReportArguments& arguments) {
  if (arguments.html.empty() && arguments.markdown.empty()) arguments.markdown = "-";
  if (is_standard_output(arguments.html) && is_standard_output(arguments.markdown)) {
    throw Error("--html and --markdown cannot both go to standard output", "",
                ExitCode::bad_option);
  }
  if (arguments.all_records && arguments.html.empty()) {
    throw Error("--all-events needs --html", "", ExitCode::bad_option);
  }
  for (const std::string& name : {arguments.html, arguments.markdown}) {
    std::error_code ignored;
    if (!name.empty() && std::filesystem::equivalent(name, arguments.file, ignored)) {
      throw Error("the report would have the name of the file that is read", "choose another name",
                  ExitCode::output_failed);
    }
  }
  if (is_standard_output(arguments.html)) refuse_terminal();
  std::string html, markdown;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        store::Database& database = open.database;
        view::Model model =
            view::read_model(database, [&](std::string_view what) { open.show(what); });
        model.stored = reading::count_records(database, open.file.numbers_records());
        std::vector<std::string> notes = open.file.notes();
        const std::string empty = view::why_empty(database, model);
        if (!empty.empty()) notes.push_back("Nothing can be drawn: " + empty + ".");
        const reading::Filter& window = arguments.output.reports.filter;
        const view::RunSummary summary =
            view::summarize(database, model, std::filesystem::path(arguments.file).filename(),
                            notes, window.from, window.to);
        if (!arguments.html.empty())
          html = view::html_report(model, summary, arguments.all_records);
        if (!arguments.markdown.empty()) markdown = view::markdown_report(model, summary);
      },
      [&] {
        write(arguments.html, view::html_begins, html, arguments);
        write(arguments.markdown, view::markdown_begins, markdown, arguments);
      });
}

void declare_report(Grammar& grammar, ReportArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile");
  grammar.take("--html", &arguments.html,
               "Write one file for a browser: where the time went, findings, steps, what took "
               "most of the time, and the timeline of gpuprof view; at most 5 MB, and it asks "
               "for nothing from a network; -: to standard output",
               "FILE");
  grammar.take("--markdown", &arguments.markdown,
               "Write at most 60 lines for a pull request: where the time went, three findings, "
               "five kernels; -: to standard output, as without --html",
               "FILE");
  grammar.take_window(arguments.output,
                      "Report the time from here on, counted from the run's first record: 1.5 or "
                      "1.5s, 20ms, 7us, 12ns; nvtx:NAME: where the first NVTX range of that name "
                      "begins, and with --to where it ends",
                      "Report the time before this");
  grammar.take("--all-events", &arguments.all_records,
               "Put each record into the HTML file, which may have 50 MB then");
  grammar.take_options(arguments.output, {"force-overwrite", "umask", "quiet"});
  grammar.footer(
      "\nFor a long time the timeline has buckets of records instead of each record, except for "
      "the longest\ngaps and steps: --all-events or gpuprof view has them all.\n-f replaces an "
      "existing report, too.");
}

}  // namespace

extern const Subcommand report_command{
    .name = "report",
    .usage = "FILE [--html FILE]",
    .help = "Write a run as one page, to be mailed or for a pull request",
    .declare = command<ReportArguments, declare_report, report>,
};

}  // namespace gpuprof::app
