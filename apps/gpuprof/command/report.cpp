// gpuprof report: a run on a single page that can be mailed.
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <optional>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/text_file.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/read/record_count.hpp"
#include "libprof/view/page/comparison.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::app {
namespace {

constexpr std::size_t longest_state = 100'000;  // bytes

struct ReportArguments {
  std::string file, html, markdown, against, state;
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

void check_html_options(const ReportArguments& arguments) {
  const auto needs_html = [&](bool given, const std::string& option, const std::string& hint) {
    if (given && arguments.html.empty()) {
      throw Error(option + " needs --html", hint, ExitCode::bad_option);
    }
  };
  needs_html(arguments.all_records, "--all-events", "");
  needs_html(!arguments.state.empty(), "--state", "");
  needs_html(!arguments.against.empty(), "--against", "gpuprof diff A B --markdown compares two");
  if (arguments.state.size() > longest_state) {
    throw Error("--state is longer than any address of gpuprof view", "", ExitCode::bad_option);
  }
  const reading::Filter& window = arguments.output.reports.filter;
  if (!arguments.against.empty() && (window.from.given() || window.to.given())) {
    throw Error("--against compares whole runs, without --from, --to and --nvtx", "",
                ExitCode::bad_option);
  }
}

// What is drawn of an open file, and what its readers should know.
view::Model read_drawn(const OpenProfile& open, std::vector<std::string>& notes,
                       std::vector<view::Name> names = {}) {
  view::Model model = view::read_model(
      open.database, [&](std::string_view what) { open.show(what); }, std::move(names));
  model.stored = reading::count_records(open.database, open.file.numbers_records());
  notes = open.file.notes();
  const std::string empty = view::why_empty(open.database, model);
  if (!empty.empty()) notes.push_back("Nothing can be drawn: " + empty + ".");
  return model;
}

std::string title_of(const std::string& path) { return std::filesystem::path(path).filename(); }

int report(ReportArguments& arguments) {
  if (arguments.html.empty() && arguments.markdown.empty()) arguments.markdown = "-";
  if (is_standard_output(arguments.html) && is_standard_output(arguments.markdown)) {
    throw Error("--html and --markdown cannot both go to standard output", "",
                ExitCode::bad_option);
  }
  check_html_options(arguments);
  for (const std::string& name : {arguments.html, arguments.markdown}) {
    std::error_code ignored;
    const auto is = [&](const std::string& file) {
      return !name.empty() && std::filesystem::equivalent(name, file, ignored);
    };
    if (is(arguments.file) || is(arguments.against)) {
      throw Error("the report would have the name of the file that is read", "choose another name",
                  ExitCode::output_failed);
    }
  }
  if (is_standard_output(arguments.html)) refuse_terminal();
  std::optional<view::OtherRun> other;
  const std::string& before = arguments.against;
  if (!before.empty()) {
    const int code = with_profile(before, [&](const OpenProfile& open) {
      std::vector<std::string> notes;
      view::Model model = read_drawn(open, notes);
      other = view::read_other(open.database, std::move(model), title_of(before), std::move(notes),
                               [&] { open.show("reading " + before); });
    });
    if (code != 0) return code;
  }
  std::string html, markdown;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        std::vector<std::string> notes;
        const view::Model model =
            read_drawn(open, notes, other ? other->model.names : std::vector<view::Name>());
        const reading::Filter& window = arguments.output.reports.filter;
        view::RunSummary summary = view::summarize(open.database, model, title_of(arguments.file),
                                                   notes, window.from, window.to);
        summary.state = arguments.state.substr(arguments.state.find('#') + 1);
        if (other) {
          other->other = view::read_side(open.database, model, summary.title, std::nullopt,
                                         [&] { open.show("comparing"); });
        }
        if (!arguments.html.empty()) {
          view::add_kernels(open.database, summary, window.from, window.to);
          html =
              view::html_report(model, summary, arguments.all_records, other ? &*other : nullptr);
        }
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
  grammar.take("--against", &arguments.against,
               "Compare with this run, which the timeline draws first; gpuprof diff says the same",
               "BEFORE");
  grammar.take(
      "--state", &arguments.state,
      "Open the HTML file as gpuprof view shows the run: the part of its address from # on "
      "(its Share has the command)",
      "STATE");
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
