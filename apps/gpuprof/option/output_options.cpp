// Options for output files and names.

#include "apps/gpuprof/option/setters.hpp"

namespace gpuprof::app {
namespace {

std::optional<Refusal> set_umask(Options& options, const std::string& value) {
  const auto bits = parse<unsigned>(value, 8);
  if (!bits || *bits > 0777) return Refusal{.takes = "an octal number from 0 to 777"};
  options.file_mode = (0666 & ~static_cast<mode_t>(*bits)) | 0600;
  return {};
}

std::optional<Refusal> set_step(Options& options, const std::string& value) {
  if (auto wrong = wrong_expression(value)) return wrong;
  options.step = value;
  return {};
}

std::optional<Refusal> set_hang_after(Options& options, const std::string& value) {
  const auto time = hang_time(value);
  if (!time) return Refusal{.takes = a_hang_time};
  options.hang_after = *time;
  return {};
}

}  // namespace

std::vector<Option> output_options() {
  return {
      {.name = "export-profile",
       .letter = 'o',
       .argument = "FILE",
       .help = "Write the profile to this SQLite file\n"
               "The name may hold %p (process id: one file for each process), %h (host), %q{NAME} "
               "(variable) and %% (a percent sign). Reports are then printed only when asked for.",
       .is = common | once,
       .alias = "output-profile",
       .set = file_name([](Options& o) -> std::string& { return o.output; })},
      {.name = "force-overwrite",
       .letter = 'f',
       .help = "Replace a profile, a capture or an empty file of that name",
       .is = common,
       .set = flag([](Options& o) { o.overwrite = true; })},
      {.name = "fail-if-empty",
       .help = "End with 24 instead of 0 when nothing was recorded\n"
               "For tests: a program that finds no GPU and goes on without is not taken for one "
               "that was profiled.",
       .is = ours | common | not_with_import,
       .set = flag([](Options& o) { o.fail_if_empty = true; })},
      {.name = "hang-after",
       .argument = "TIME",
       .help = "Say at the end which work had not ended for this time (30s); 0: say nothing\n"
               "Operations of NCCL with the ranks that entered them, and other launches, each with "
               "the line of Python. gpuprof top says it while the program runs.",
       .is = ours | not_with_import,
       .set = set_hang_after},
      {.name = "view",
       .help = "Show the run in a browser while it is recorded, and afterwards until Ctrl-C\n"
               "The address is printed to standard error: gpuprof view --live.",
       .is = ours | not_with_import,
       .set = flag([](Options& o) { o.view = true; })},
      {.name = "umask",
       .argument = "MODE",
       .help = "Take these bits, octal, from the mode of the files that are made (077)\n"
               "077 leaves them to their owner alone, 022 lets all read them. The shell's umask "
               "does not count. Profiles, captures, logs and parts of profiles are meant; the "
               "owner may always read and write them.",
       .is = ours,
       .set = set_umask},
      {.name = "step",
       .argument = "REGEX",
       .help = "NVTX ranges whose message contains this regular expression are steps\n"
               "The view steps has them. Without it, ranges named step, iteration, batch or the "
               "like are steps, with or without a number after the name. If there is none, the "
               "windows between cudaProfilerStart and cudaProfilerStop are.",
       .is = ours | not_with_import,
       .set = set_step},
      {.name = "no-command-line",
       .help = "Do not store command lines, which may hold secrets\n"
               "Neither gpuprof's nor the program's nor those of its processes, in no profile and "
               "no capture. Reports and logs name the program without its arguments.",
       .is = ours,
       .set = flag([](Options& o) { o.store_command_line = false; })},
      {.name = "import-profile",
       .letter = 'i',
       .argument = "FILE",
       .help = "Print reports of this file; nothing is run\n"
               "Files of gpuprof and of nvprof, Version 8 to 18.",
       .is = common | once,
       .set = text([](Options& o) -> std::string& { return o.input; })},
      {.name = "log-file",
       .argument = "FILE",
       .help = "Send reports and messages to this file\n"
               "%1 is standard output, %2 standard error. The name may hold %p, %h, %q{NAME} and "
               "%%. An existing file is replaced.",
       .is = common,
       .set =
           [](Options& options, const std::string& value) {
             const auto target = [](Options& o) -> std::string& { return o.log_file; };
             return value == "%1" || value == "%2" ? text(target)(options, value)
                                                   : file_name(target)(options, value);
           }},
      {.name = "quiet",
       .letter = 'q',
       .help = "Print nothing but errors",
       .is = common,
       .set = flag([](Options& o) { o.quiet = true; })},
      {.name = "save-capture",
       .argument = "FILE",
       .help = "Also record the stream itself, for gpuprof replay",
       .is = ours | once,
       .set = file_name([](Options& o) -> std::string& { return o.save_capture; })},
      {.name = "no-indexes",
       .help = "Leave out nvprof's indexes: smaller file, slower joins",
       .is = ours,
       .set = flag([](Options& o) { o.indexes = false; })},
      {.name = "process-name",
       .argument = "NAME",
       .help = "A name for processes, in the table NAME\n"
               "The name may hold %p (process id), %h (host), %q{NAME} (variable) and %%.",
       .set = placeholders([](Options& o) -> std::string& { return o.process_name; }, false)},
      {.name = "context-name",
       .argument = "NAME",
       .help = "A name for contexts that the program does not name\n"
               "The name may hold %i (the context's number) and what process names may hold.",
       .set = placeholders([](Options& o) -> std::string& { return o.context_name; }, true)},
      {.name = "stream-name",
       .argument = "NAME",
       .help = "A name for streams that the program does not name\n"
               "The name may hold %i (the stream's number) and what process names may hold.",
       .set = placeholders([](Options& o) -> std::string& { return o.stream_name; }, true)},
  };
}

}  // namespace gpuprof::app
