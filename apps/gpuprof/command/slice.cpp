// gpuprof slice: the records of a time window.
#include "apps/gpuprof/command/new_profile.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/shell.hpp"

namespace gpuprof::app {
namespace {

int slice(ExcerptJob& job) {
  exporting::ExcerptOptions& window = job.options;
  window.from = job.file.reports.filter.from;
  window.to = job.file.reports.filter.to;
  if (!window.from.given() && !window.to.given() && !window.anonymise) {
    throw Error("there is no time window", "give --from, --to, both, or --nvtx",
                ExitCode::bad_option);
  }
  std::vector<std::string> words{"gpuprof", "slice"};
  words.push_back(window.anonymise ? "--anonymise" : job.input);
  if (window.from.given()) words.insert(words.end(), {"--from", window.from.text});
  if (window.to.given()) words.insert(words.end(), {"--to", window.to.text});
  window.command = shell_line(words);
  return write_excerpt(job);
}

void declare_slice(Grammar& grammar, ExcerptJob& job) {
  grammar.take_file("profile", job.input, "The profile to take from");
  grammar.take_window(job.file,
                      "Records that begin at this time or later; times count from the run's first "
                      "record: 1.5 or 1.5s, 20ms, 7us, 12ns; nvtx:NAME: where the first NVTX range "
                      "of that name begins, and with --to where it ends",
                      "Records that begin before this time");
  grammar.take("--anonymise", &job.options.anonymise,
               "Leave out who made it and where: host, paths, command lines, environment; "
               "without a time window all records are kept");
  take_file_options(grammar, job);
  grammar.require("export-profile");
  grammar.footer(
      "\nAPI calls that asked for GPU work in the window are kept as well, and NVTX ranges that\n"
      "overlap it.\n"
      "\n"
      "--anonymise leaves out: the name of the host, command lines, folders and the environment\n"
      "(table RUN has nothing but versions, times, how it ended and what was collected); paths "
      "and\n"
      "command lines of processes; names of source files, of files in the compute cache and of\n"
      "libraries; names of processes and threads; the code of modules; which kernels metrics were\n"
      "asked for; CPU samples; tables, columns, views and indexes that gpuprof does not know; and\n"
      "every string that nothing else refers to. It keeps: all times and numbers, process and\n"
      "thread ids, models and UUIDs of devices, names of kernels and variables, texts of NVTX,\n"
      "names of devices, contexts and streams.");
}

}  // namespace

extern const Subcommand slice_command{
    .name = "slice",
    .usage = "FILE [--nvtx NAME] -o FILE",
    .help = "Write a time window of a profile into a new file",
    .declare = command<ExcerptJob, declare_slice, slice>,
};

}  // namespace gpuprof::app
