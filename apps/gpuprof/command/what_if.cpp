// gpuprof what-if: what a change would save.
#include "libprof/conclude/simulate/what_if.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

struct WhatIfArguments {
  std::string file;
  Options window;
  std::vector<std::string> kernels;
  bool no_gaps = false, overlap_copies = false, no_copies = false, no_waits = false;
  bool json = false;
};

// "gemm=2x" or "gemm=2".
simulate::FasterKernels faster_kernels(const std::string& word) {
  constexpr double most = 1e9;
  const std::size_t sign = word.rfind('=');
  if (sign != std::string::npos && sign > 0) {
    std::string_view times(word);
    times.remove_prefix(sign + 1);
    if (times.ends_with('x')) times.remove_suffix(1);
    const auto number = parse<double>(times);
    if (number && *number >= 1 && *number <= most) {
      return {.expression = word.substr(0, sign), .times = *number};
    }
  }
  throw Error(
      "--kernel takes a regular expression and how many times as fast such kernels are, "
      "from 1 on, not " +
          word,
      "for example --kernel gemm=2x", ExitCode::bad_option);
}

simulate::Question question_of(const WhatIfArguments& arguments) {
  simulate::Question question;
  for (const std::string& word : arguments.kernels) {
    question.kernels.push_back(faster_kernels(word));
  }
  if (arguments.no_gaps) question.mends |= simulate::gaps;
  if (arguments.overlap_copies) {
    question.mends |=
        simulate::pageable_copies | simulate::blocking_copies | simulate::other_copies;
  }
  if (arguments.no_copies) question.mends |= simulate::copies;
  if (arguments.no_waits) question.mends |= simulate::waits;
  return question;
}

int show_what_if(WhatIfArguments& arguments) {
  const simulate::Question question = question_of(arguments);
  const reading::Filter& window = arguments.window.reports.filter;
  simulate::WhatIf result;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        result = simulate::ask(open.database, question, window.from, window.to,
                               [&] { open.show("reading calls and GPU work"); });
      },
      [&] { std::cout << (arguments.json ? what_if_json(result) : what_if_text(result)); });
}

void declare_what_if(Grammar& grammar, WhatIfArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, also one that is being written");
  grammar.take("--kernel", &arguments.kernels,
               "Kernels whose names match are that many times as fast; several are separated by "
               "commas (in a REGEX: \\x2c)",
               "REGEX=2x");
  grammar.take("--no-gaps", &arguments.no_gaps,
               "The host needs no time while the GPU is idle; what work waits for stays");
  grammar.take("--overlap-copies", &arguments.overlap_copies,
               "Copies between host and device have a stream of their own, and the host does not "
               "wait for them");
  grammar.take("--no-copies", &arguments.no_copies, "Copies take no time");
  grammar.take("--no-waits", &arguments.no_waits,
               "The host does not wait in synchronizations and in blocking copies");
  grammar.take_window(arguments.window);
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.footer(
      "\n"
      "  gpuprof what-if run.sqlite --kernel gemm=2x\n"
      "  gpuprof what-if run.sqlite --no-gaps --overlap-copies\n"
      "\n"
      "The recorded schedule runs again with the change: work waits for the work before it in its\n"
      "stream, for its launch, and for events; the host goes on when what it waited for is over.\n"
      "Without a change the times are exactly those of the run. Where steps are known (view\n"
      "steps), their time is given, without those that warm up. docs/what-if.md has the\n"
      "model and its limits.");
}

}  // namespace

extern const Subcommand what_if_command{
    .name = "what-if",
    .usage = "FILE --kernel REGEX=2x",
    .help = "Say what a change would save: the recorded schedule runs again with it",
    .rare = true,
    .declare = command<WhatIfArguments, declare_what_if, show_what_if>,
};

}  // namespace gpuprof::app
