// gpuprof account: where the time of each GPU went.
#include "libprof/report/account.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::app {
namespace {

struct AccountArguments {
  std::string file;
  Options window;
  report::ReportOptions options{.prefix = ""};
  bool csv = false, json = false;
};

int show_account(AccountArguments& arguments) {
  if (arguments.csv && arguments.json) {
    throw Error("--csv and --json exclude one another", "", ExitCode::bad_option);
  }
  report::ReportOptions& options = arguments.options;
  if (arguments.json) options.layout = report::Layout::json;
  if (arguments.csv) options.layout = report::Layout::plain_csv;
  const reading::Filter& window = arguments.window.reports.filter;
  report::TimeAccount account;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        account = report::read_account(open.database, window.from, window.to,
                                       [&] { open.show("reading calls and GPU work"); });
      },
      [&] { print_account(account, std::cout, options); });
}

void declare_account(Grammar& grammar, AccountArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile, also one that is being written");
  grammar.take_window(arguments.window);
  grammar.take("--csv", &arguments.csv,
               "Comma-separated values: one line of names, then a line for each row");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.footer(
      "\n"
      "  gpuprof account run.sqlite\n"
      "  gpuprof account run.sqlite --nvtx step3\n"
      "\n"
      "The rows of a GPU add up to the time. Where several kinds of work ran at a time, it "
      "computed;\n"
      "otherwise it communicated (NCCL's kernels), copied or set memory, the first of these. An "
      "idle\n"
      "GPU is accounted by the call of CUDA that the host was in. The 10,000 longest gaps are "
      "looked\n"
      "at; the others are short gaps. The view account has the same of the run.");
}

}  // namespace

extern const Subcommand account_command{
    .name = "account",
    .usage = "FILE [--nvtx NAME] [--csv|--json]",
    .help = "Say where the time of each GPU went, in parts that add up to it",
    .declare = command<AccountArguments, declare_account, show_account>,
};

}  // namespace gpuprof::app
