// gpuprof memory: what the memory was used for.
#include <iostream>
#include <memory>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/error.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/report/memory.hpp"

namespace gpuprof::app {
namespace {

struct MemoryArguments {
  std::string file;
  std::string by;
  std::string top;
  report::MemorySections sections;
  bool csv = false, json = false;
};

memory::Account read_account(reading::ProfileFile& file, const memory::Questions& questions) {
  Progress progress;
  memory::Account account;
  file.read(
      [&](store::Database& database) {
        database.watch(&Progress::is_interrupted);
        reading::Profile profile(database, {}, reading::NameStyle::modern,
                                 [&](std::string_view what) { progress.show(what); });
        account =
            memory::account(profile, questions, [&] { progress.show("reading allocations"); });
      },
      [&](std::string_view what) { progress.show(what); });
  return account;
}

int print_account(MemoryArguments& arguments) {
  if (arguments.csv && arguments.json) {
    throw Error("--csv and --json exclude one another", "", ExitCode::bad_option);
  }
  report::Options options{.prefix = "", .blocks = has_unicode()};
  if (arguments.json) options.layout = report::Layout::json;
  if (arguments.csv) options.layout = report::Layout::plain_csv;
  if (!arguments.top.empty()) {
    options.top = parse<int>(arguments.top).value_or(0);
    if (options.top < 1) throw Error("--top takes a number from 1 on", "", ExitCode::bad_option);
  }
  memory::Questions questions;
  if (!arguments.by.empty()) {
    questions.by = memory::parse_by(arguments.by);
    arguments.sections.owners = !arguments.sections.leaks;
  }
  questions.points = points_of(arguments.sections, options.layout);

  reading::ProfileFile file(arguments.file);
  if (file.problem()) throw Error(*file.problem());
  memory::Account account;
  try {
    account = read_account(file, questions);
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  const int code = print_to_standard_output(
      [&] { print_memory(account, std::cout, arguments.sections, options); });
  if (code != 0) return code;
  return tell_notes(file);
}

std::function<int()> declare_memory(Grammar& grammar) {
  auto arguments = std::make_shared<MemoryArguments>();
  grammar.take({.name = "file",
                .to = &arguments->file,
                .help = "A profile",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "--peak",
                .to = &arguments->sections.peak,
                .help = "When most memory was allocated, to the byte, and its owners"});
  grammar.take({.name = "--leaks",
                .to = &arguments->sections.leaks,
                .help = "What was never released, and whether that is a leak"});
  grammar.take({.name = "--timeline",
                .to = &arguments->sections.timeline,
                .help = "How much was allocated over time"});
  grammar.take({.name = "--by",
                .to = &arguments->by,
                .help = "Owners of the memory: the library that asked, the NVTX ranges around "
                        "the call, the functions above it (--stacks), the kind of memory, or the "
                        "pool (library)",
                .placeholder = "WHAT",
                .choices = {"library", "nvtx", "stack", "kind", "pool"}});
  grammar.take({.name = "--top",
                .to = &arguments->top,
                .help = "Lines of each table of text (10)",
                .placeholder = "N"});
  grammar.take({.name = "--csv",
                .to = &arguments->csv,
                .help = "Comma-separated values: one line of names, then a line for each row"});
  grammar.take({.name = "--json", .to = &arguments->json, .help = "One JSON document"});
  grammar.footer(
      "\n"
      "  gpuprof --track-memory -o run.sqlite ./app\n"
      "  gpuprof memory run.sqlite\n"
      "  gpuprof memory run.sqlite --leaks --by nvtx\n"
      "\n"
      "Memory that was never released is lost where it was allocated after the second step began\n"
      "(view steps), without steps after the first kernel; what was allocated before is kept.\n"
      "No leaks are claimed of a process that was killed, or of a file that lacks records.");
  return [arguments] { return print_account(*arguments); };
}

}  // namespace

extern const Subcommand memory_command{
    .name = "memory",
    .usage = "FILE [--peak] [--leaks] [--timeline] [--by WHAT] [--csv|--json]",
    .help = "Say where the memory went: peak, owners, leaks, pools",
    .declare = declare_memory,
};

}  // namespace gpuprof::app
