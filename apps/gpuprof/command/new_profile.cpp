#include "apps/gpuprof/command/new_profile.hpp"

#include <unistd.h>

#include <cstdio>
#include <optional>
#include <utility>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/exchange/export/table_rules.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/record/output_file.hpp"

namespace gpuprof::app {
void take_file_options(Grammar& grammar, ExcerptJob& job) {
  grammar.take_options(job.file, {"export-profile", "force-overwrite", "umask", "quiet"});
}

int write_excerpt(ExcerptJob job) {
  const std::string output = expand_name(job.file.output, getpid());
  reading::ProfileFile file(job.input);
  if (file.problem()) throw Error(*file.problem());
  if (job.in_place && file.in_use()) {
    throw Error(job.input + " is in use: another process, gpuprof at work say, has it open",
                "wait for its end, or name a copy with -o", ExitCode::output_failed);
  }
  const record::FileRules rules{.overwrite = job.file.overwrite,
                                .mode = job.file.file_mode,
                                .input = job.in_place ? "" : job.input};
  Progress progress;
  std::optional<record::OutputFile> made(std::in_place, output, rules);
  const auto show = [&](std::string_view what) { progress.show(what); };
  exporting::Excerpt excerpt;
  try {
    file.read(
        [&](store::Database& database) {
          if (!job.keep.empty()) job.options.keep = exporting::tables_named(job.keep, database);
          // Discard what was written before the damage was found.
          made.reset();
          made.emplace(output, rules);
          job.options.name = made->name();
          excerpt = exporting::write_excerpt(database, made->path(), job.options, show,
                                             &Progress::is_interrupted);
        },
        show);
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  made->place();
  progress.clear();

  const auto say = [&](const std::string& text) {
    if (!job.file.quiet) std::fprintf(stderr, "gpuprof: %s\n", printable_lines(text).c_str());
  };
  for (const std::string& note : file.notes()) say(note);
  if (excerpt.without_times > 0) {
    say(std::to_string(excerpt.without_times) +
        " records of GPU work have no times, so they are in no part of it.");
  }
  if (!excerpt.not_computed.empty()) say(job.input + ": " + excerpt.not_computed);
  for (const std::string& name : excerpt.left_out) say(name + " is left out.");
  const std::string records =
      std::to_string(excerpt.kept) + (excerpt.kept == 1 ? " record" : " records");
  // What was not computed has been printed already.
  say(made->name() + ": " +
      (job.options.finish && excerpt.not_computed.empty()
           ? "NVTX ranges, busy times, gaps and indexes were computed of " + records
           : records) +
      (job.in_place ? "" : " of " + job.input));
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
