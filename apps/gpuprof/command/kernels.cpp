// gpuprof kernels: what is known of each kernel, by shape.
#include <sstream>

#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/conclude/kernels/print.hpp"

namespace gpuprof::app {
namespace {

struct KernelsArguments {
  std::string file, against;
  Options window;
  kernels::Wanted wanted;
  bool json = false, markdown = false;
};

using Read = std::function<void(report::Session&, const std::function<void()>& check)>;

// Returns the exit code.
int read_profile(const std::string& file, const reading::Filter& window, const Read& read,
                 const std::function<void()>& print) {
  return with_profile(
      file,
      [&](const OpenProfile& open) {
        std::ostringstream nowhere;  // only reports print
        const report::ReportOptions options{.filter = window};
        report::Output output(nowhere, options);
        report::Session session(open.database, options, output, reading::NameStyle::modern);
        read(session, [&] { open.show("reading kernels of " + file); });
      },
      print);
}

int show_kernels(KernelsArguments& arguments) {
  if (arguments.json && arguments.markdown) {
    throw Error("--json and --markdown exclude one another", "", ExitCode::bad_option);
  }
  const reading::Filter& window = arguments.window.reports.filter;
  kernels::Shapes baseline;
  if (!arguments.against.empty()) {
    const Read read = [&](report::Session& session, const auto& check) {
      baseline = kernels::read_shapes(session, check);
    };
    if (const int code = read_profile(arguments.against, window, read, {})) return code;
  }
  kernels::Kernels found;
  return read_profile(
      arguments.file, window,
      [&](report::Session& session, const auto& check) {
        found = kernels::read_kernels(session, arguments.wanted, check);
        if (!arguments.against.empty()) compare_with(found, baseline);
      },
      [&] {
        std::cout << (arguments.json       ? kernels_json(found)
                      : arguments.markdown ? kernels_markdown(found)
                                           : kernels_text(found));
      });
}

void declare_kernels(Grammar& grammar, KernelsArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, also one that is being written");
  grammar.take("--kernels", &arguments.wanted.pattern,
               "Only kernels whose names contain this regular expression", "REGEX");
  grammar.take("--top", number_to(arguments.wanted.most, 1),
               "Number of shapes to show, those with most time (10)", "N");
  grammar.take_window(arguments.window);
  grammar.take("--against", &arguments.against, "Compare with the same kernels of another profile",
               "FILE");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take("--markdown", &arguments.markdown, "For a ticket");
  grammar.footer(
      "\n"
      "  gpuprof kernels run.sqlite --kernels gemm\n"
      "  gpuprof --set roofline -o roofline.sqlite ./train && gpuprof kernels roofline.sqlite\n"
      "  gpuprof kernels after.sqlite --against before.sqlite\n"
      "\n"
      "A shape is a kernel with its grid, block, shared memory and registers. What the file does\n"
      "not have is named at the end, with the option that records it; see docs/kernels.md.");
}

}  // namespace

extern const Subcommand kernels_command{
    .name = "kernels",
    .usage = "FILE [--kernels REGEX]",
    .help = "Say what is known of each kernel: time, occupancy, roofline",
    .declare = command<KernelsArguments, declare_kernels, show_kernels>,
};

}  // namespace gpuprof::app
