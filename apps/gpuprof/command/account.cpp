// gpuprof account: where the time of each GPU went.
#include "libprof/report/account.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"

namespace gpuprof::app {
namespace {

struct AccountArguments {
  std::string file;
  Options window;
  report::ReportOptions options{.prefix = ""};
  TableLayout layout;
};

int show_account(AccountArguments& arguments) {
  report::ReportOptions& options = arguments.options;
  options.layout = arguments.layout.chosen();
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
  grammar.take_layout(arguments.layout);
  grammar.footer(
      "\n"
      "  gpuprof account run.sqlite\n"
      "  gpuprof account run.sqlite --nvtx step3\n"
      "\n"
      "The rows of a GPU add up to the time. Where several kinds of work ran at once, the first\n"
      "counts: computing, communicating (NCCL's kernels), copying, setting memory. While it is\n"
      "idle, the row says whether work was launched already, or the host was launching it, in\n"
      "another call of CUDA, or in none. docs/account.md describes the rows, with a picture. The\n"
      "view account has the same for the run.");
}

}  // namespace

extern const Subcommand account_command{
    .name = "account",
    .usage = "FILE [--nvtx NAME]",
    .help = "Say where the time of each GPU went, adding up to the whole",
    .declare = command<AccountArguments, declare_account, show_account>,
};

}  // namespace gpuprof::app
