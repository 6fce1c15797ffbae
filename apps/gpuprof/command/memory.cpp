// gpuprof memory: what the memory was used for.
#include "libprof/report/memory.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/run/log.hpp"

namespace gpuprof::app {
namespace {

struct MemoryArguments {
  std::string file;
  std::string by;
  report::MemorySections sections;
  report::ReportOptions options{.prefix = "", .blocks = has_unicode()};
  TableLayout layout;
};

int print_account(MemoryArguments& arguments) {
  report::ReportOptions& options = arguments.options;
  options.layout = arguments.layout.chosen();
  memory::Questions questions;
  if (!arguments.by.empty()) {
    questions.by = memory::parse_by(arguments.by);
    arguments.sections.owners = !arguments.sections.leaks;
  }
  questions.points = points_of(arguments.sections, options.layout);

  memory::Account account;
  return with_profile(
      arguments.file,
      [&](const OpenProfile& open) {
        reading::Profile profile(open.database, {}, reading::NameStyle::modern,
                                 [&](std::string_view what) { open.show(what); });
        account = memory::account(profile, questions, [&] { open.show("reading allocations"); });
      },
      [&] { print_memory(account, std::cout, arguments.sections, options); });
}

void declare_memory(Grammar& grammar, MemoryArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile");
  grammar.take("--peak", &arguments.sections.peak,
               "When most memory was allocated, to the byte, and its owners");
  grammar.take("--leaks", &arguments.sections.leaks,
               "What was never released, and whether that is a leak");
  grammar.take("--timeline", &arguments.sections.timeline, "How much was allocated over time");
  grammar.take("--by", &arguments.by,
               "Owners of the memory: the library that asked, the NVTX ranges around the call, the "
               "functions above it (--stacks), the kind of memory, or the pool (library)",
               "WHAT", {"library", "nvtx", "stack", "kind", "pool"});
  grammar.take("--top", number_to(arguments.options.top, 1), "Lines of each table of text (10)",
               "N");
  grammar.take_layout(arguments.layout);
  grammar.footer(
      "\n"
      "  gpuprof --track-memory -o run.sqlite ./app\n"
      "  gpuprof memory run.sqlite\n"
      "  gpuprof memory run.sqlite --leaks --by nvtx\n"
      "\n"
      "Memory that was never released is lost where it was allocated after the second step began\n"
      "(view steps), without steps after the first kernel; what was allocated before is kept.\n"
      "No leaks are claimed of a process that was killed, or of a file that lacks records.");
}

}  // namespace

extern const Subcommand memory_command{
    .name = "memory",
    .usage = "FILE [--peak] [--leaks]",
    .help = "Say where the memory went: peak, owners, leaks, pools",
    .declare = command<MemoryArguments, declare_memory, print_account>,
};

}  // namespace gpuprof::app
