// gpuprof lines: GPU time by line of Python.
#include "libprof/report/lines.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"

namespace gpuprof::app {
namespace {

struct LinesArguments {
  std::string file;
  bool all = false;
  report::ReportOptions options{.prefix = ""};
  TableLayout layout;
};

int show_lines(LinesArguments& arguments) {
  report::ReportOptions& options = arguments.options;
  options.layout = arguments.layout.chosen();
  const auto which = arguments.all ? compute::LineOf::any_code : compute::LineOf::users_code;
  std::vector<compute::LineTime> lines;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        store::Snapshot snapshot(open.database);
        lines = compute::read_line_times(snapshot, which,
                                         [&] { open.show("reading calls and GPU work"); });
      },
      [&] { print_lines(lines, std::cout, options); });
}

void declare_lines(Grammar& grammar, LinesArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, also one that is being written");
  grammar.take("--all", &arguments.all,
               "The innermost line of Python, also in installed packages and in Python itself");
  grammar.take("--top", number_to(arguments.options.top, 1), "Lines of text (20)", "N");
  grammar.take_layout(arguments.layout);
  grammar.footer(
      "\n"
      "  gpuprof -o run.sqlite python train.py\n"
      "  gpuprof lines run.sqlite\n"
      "\n"
      "A line has the work that it asked for, itself or by the packages that it called. GPU idle "
      "is\n"
      "how long the GPU had waited for such work (view gpu_gaps), In calls how long the line was "
      "in\n"
      "calls of CUDA. The shares add up to all GPU time; what came from threads without Python, "
      "as\n"
      "those of PyTorch's backward pass are, has no line. See docs/lines.md.");
}

}  // namespace

extern const Subcommand lines_command{
    .name = "lines",
    .usage = "FILE [--all]",
    .help = "Say which lines of Python the GPU's time is for",
    .declare = command<LinesArguments, declare_lines, show_lines>,
};

}  // namespace gpuprof::app
