#include "apps/gpuprof/excerpt.hpp"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "apps/gpuprof/option_table.hpp"
#include "apps/gpuprof/progress.hpp"
#include "libprof/base/error.hpp"
#include "libprof/launch/file_name.hpp"
#include "libprof/store/profile_file.hpp"

namespace gpuprof::app {
namespace {

bool same_file(const std::string& a, const std::string& b) {
  std::error_code ignored;
  return std::filesystem::equivalent(a, b, ignored);
}

}  // namespace

void add_file_options(CLI::App& app, ExcerptJob& job) {
  app.add_option("-o,--export-profile", job.output, "Write the new profile to this file")
      ->required()
      ->option_text("FILE");
  app.add_flag("-f,--force-overwrite", job.files.overwrite, find_option("force-overwrite")->help);
  const Option& umask = *find_option("umask");
  app.add_option_function<std::string>(
         "--umask",
         [&umask, &job](const std::string& value) {
           Options parsed;
           if (const auto refused = apply(umask, value, parsed)) {
             throw CLI::ValidationError("--umask", "takes " + refused->takes);
           }
           job.files.mode = parsed.file_mode;
         },
         umask.help.substr(0, umask.help.find('\n')))
      ->option_text(umask.argument);
  app.add_flag("-q,--quiet", job.quiet, "Say nothing but errors");
}

int write_excerpt(ExcerptJob job) {
  const std::string output = launch::expand_name(job.output, getpid());
  if (same_file(output, job.input)) {
    throw Error("-o names the file that is read", "choose another name", ExitCode::output_failed);
  }
  store::ProfileFile file(job.input);
  if (file.problem()) throw Error(*file.problem());
  Progress progress;
  std::optional<store::OutputFile> made(std::in_place, output, job.files);
  const auto show = [&](std::string_view what) { progress.show(what); };
  exporting::Excerpt excerpt;
  try {
    file.read(
        [&](store::Database& database) {
          if (!job.keep.empty()) job.options.keep = exporting::tables_named(job.keep, database);
          // What was written before damage was met is of no use.
          made.reset();
          made.emplace(output, job.files);
          job.options.name = made->name();
          excerpt = exporting::write_excerpt(database, made->path(), job.options, show,
                                             [] { return Progress::interrupted() != 0; });
        },
        show);
  } catch (const store::DatabaseError& error) {
    if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
    return 128 + Progress::interrupted();
  }
  made->place();
  progress.clear();

  const auto say = [&](const std::string& text) {
    if (!job.quiet) std::fprintf(stderr, "gpuprof: %s\n", text.c_str());
  };
  for (const std::string& note : file.notes()) say(note);
  if (excerpt.without_times > 0) {
    say(std::to_string(excerpt.without_times) +
        " records of GPU work have no times, so they are in no part of it.");
  }
  for (const std::string& name : excerpt.left_out) say(name + " is left out.");
  say(made->name() + ": " + std::to_string(excerpt.kept) +
      (excerpt.kept == 1 ? " record" : " records") + " of " + job.input);
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
