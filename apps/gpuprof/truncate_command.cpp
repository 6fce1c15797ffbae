// gpuprof truncate: the records of some kinds.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/excerpt.hpp"
#include "libprof/base/shell.hpp"

namespace gpuprof::app {
namespace {

int truncate(ExcerptJob& job) {
  std::string kinds;
  for (const std::string& word : job.keep) kinds += (kinds.empty() ? "" : ",") + word;
  job.options.command = shell_line({"gpuprof", "truncate", job.input, "--keep", kinds});
  return write_excerpt(job);
}

std::function<int()> declare(CLI::App& app) {
  auto job = std::make_shared<ExcerptJob>();
  app.add_option("profile", job->input, "The profile to take from")
      ->required()
      ->option_text("FILE");
  app.add_option("--keep", job->keep,
                 "Records to keep, with commas between: groups of --trace (gpu, api, nvtx), kinds "
                 "(kernel, memcpy, memset, runtime, driver, marker), tables, cpu-sampling")
      ->required()
      ->delimiter(',')
      ->expected(1)
      ->take_all()
      ->allow_extra_args(false)
      ->option_text("KINDS");
  add_file_options(app, *job);
  app.footer("\nDevices, contexts, streams, names and strings are always kept.");
  return [job] { return truncate(*job); };
}

}  // namespace

const Subcommand truncate_command{
    .name = "truncate",
    .usage = "FILE --keep KINDS -o FILE",
    .help = "Write some kinds of a profile's records into a file of its own",
    .declare = declare,
};

}  // namespace gpuprof::app
