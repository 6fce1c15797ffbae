// gpuprof merge: one profile of those of several processes.
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/exchange/merge/merge.hpp"
#include "libprof/record/output_file.hpp"

namespace gpuprof::app {
namespace {

struct MergeArguments {
  std::vector<std::string> files;
  Options file;  // the new profile's name and creation
};

void check(const std::vector<std::string>& files) {
  std::error_code ignored;
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t other = 0; other < i; ++other) {
      if (!std::filesystem::equivalent(files[i], files[other], ignored)) continue;
      throw Error(files[i] + " is named twice", "a process is in one of the files",
                  ExitCode::bad_option);
    }
  }
  if (files.size() < 2) {
    throw Error("one file is named, and several are merged", "gpuprof merge A B -o FILE",
                ExitCode::bad_option);
  }
}

int merge(MergeArguments& arguments) {
  check(arguments.files);
  const Options& file = arguments.file;
  record::OutputFile made(
      expand_name(file.output, getpid()),
      {.overwrite = file.overwrite, .mode = file.file_mode, .inputs = arguments.files});
  std::vector<std::string> words{"gpuprof", "merge"};
  words.insert(words.end(), arguments.files.begin(), arguments.files.end());
  Progress progress;
  merging::Merged merged;
  try {
    merged = merging::merge({.files = arguments.files,
                             .path = made.path(),
                             .shown_as = made.name(),
                             .command = shell_line(words),
                             .progress = [&](std::string_view what) { progress.show(what); },
                             .stop = &Progress::is_interrupted});
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  progress.clear();
  made.place();
  if (file.quiet) return 0;
  for (const std::string& note : merged.notes) say(note + ".");
  say(made.name() + ": " + count_of(merged.records, "record") + " of " +
      count_of(static_cast<std::int64_t>(arguments.files.size()), "file"));
  return 0;
}

void declare_merge(Grammar& grammar, MergeArguments& arguments) {
  grammar.take({.name = "files",
                .to = &arguments.files,
                .help = "The profiles, each of other processes",
                .placeholder = "FILE...",
                .required = true,
                .several = true});
  grammar.take_options(arguments.file, {"export-profile", "force-overwrite", "umask", "quiet"});
  grammar.require("export-profile");
  grammar.footer(
      "\n"
      "A process or device whose number another file uses gets a new one; the same GPU of one\n"
      "machine keeps one number. Times are on the clock of the first file: files of one machine "
      "have\n"
      "the same clock, and those of others are moved by the time of day. Metrics, samples and "
      "what\n"
      "NCCL said come along. For more than a handful of files: gpuprof cluster.");
}

}  // namespace

extern const Subcommand merge_command{
    .name = "merge",
    .usage = "FILE... -o FILE",
    .help = "Make one profile of those of several processes or ranks",
    .rare = true,
    .declare = command<MergeArguments, declare_merge, merge>,
};

}  // namespace gpuprof::app
