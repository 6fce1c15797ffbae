// gpuprof truncate: the records of some kinds.
#include <set>

#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::app {
namespace {

int truncate(ExcerptJob& job) {
  job.options.command =
      shell_line({"gpuprof", "truncate", job.input, "--keep", joined(job.keep, ",")});
  return write_excerpt(job);
}

void declare_truncate(Grammar& grammar, ExcerptJob& job) {
  grammar.take_file("profile", job.input, "The profile to take from");
  grammar.take(
      {.name = "--keep",
       .to = &job.keep,
       .help = "Records to keep, with commas between: groups of --trace (gpu, api, nvtx), kinds "
               "(kernel, memcpy, memset, runtime, driver, marker), tables, cpu-sampling",
       .placeholder = "KINDS",
       .required = true});
  take_file_options(grammar, job);
  grammar.require("export-profile");
  grammar.footer("\nDevices, contexts, streams, names and strings are always kept.");
}

// Groups of --trace, and record kinds by table name.
std::vector<std::string> kinds_to_keep(std::string_view) {
  constexpr std::string_view prefix = "CUPTI_ACTIVITY_KIND_";
  std::set<std::string> words{"cpu-sampling", "kernel"};
  for (const schema::GroupInfo& group : schema::groups) {
    if (!group.name.empty()) words.emplace(group.name);
  }
  for (const schema::KindRef& kind : schema::kinds) {
    std::string_view table = kind.table->name;
    if (table.starts_with(prefix)) table.remove_prefix(prefix.size());
    words.insert(lower(table));
  }
  return {words.begin(), words.end()};
}

}  // namespace

extern const Subcommand truncate_command{
    .name = "truncate",
    .usage = "FILE --keep KINDS -o FILE",
    .help = "Write some kinds of a profile's records into a new file",
    .rare = true,
    .declare = command<ExcerptJob, declare_truncate, truncate>,
    .values = kinds_to_keep,
};

}  // namespace gpuprof::app
