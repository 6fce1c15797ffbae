#include "apps/gpuprof/command/new_profile.hpp"

#include <unistd.h>

#include <optional>

#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/text.hpp"
#include "libprof/exchange/export/table_rules.hpp"

namespace gpuprof::app {

int write_new_file(
    const NewFile& file,
    const std::function<void(const OpenProfile&, const record::OutputFile&)>& write,
    const std::function<std::vector<std::string>(const record::OutputFile&)>& written) {
  std::optional<record::OutputFile> made;
  std::vector<std::string> lines;
  const int code = with_profile(
      file.input,
      [&](const OpenProfile& open) {
        if (file.in_place && open.file.in_use()) {
          throw Error(file.input + " is in use: another process, gpuprof at work say, has it open",
                      "wait for its end, or name a copy with -o", ExitCode::output_failed);
        }
        // Discard what was written before the damage was found.
        made.reset();
        made.emplace(file.output, file.rules);
        write(open, *made);
      },
      [&] {
        made->place();
        lines = written(*made);
      },
      file.quiet);
  for (const std::string& line : lines) {
    if (!file.quiet) say(line);
  }
  return code;
}

void take_file_options(Grammar& grammar, ExcerptJob& job) {
  grammar.take_options(job.file, {"export-profile", "force-overwrite", "umask", "quiet"});
}

int write_excerpt(ExcerptJob& job) {
  exporting::Excerpt excerpt;
  return write_new_file(
      {.input = job.input,
       .output = expand_name(job.file.output, getpid()),
       .rules = {.overwrite = job.file.overwrite,
                 .mode = job.file.file_mode,
                 .inputs = job.in_place ? std::vector<std::string>() : std::vector{job.input}},
       .quiet = job.file.quiet,
       .in_place = job.in_place},
      [&](const OpenProfile& open, const record::OutputFile& made) {
        if (!job.keep.empty()) job.options.keep = exporting::tables_named(job.keep, open.database);
        job.options.name = made.name();
        excerpt = exporting::write_excerpt(
            open.database, made.path(), job.options,
            [&](std::string_view what) { open.progress.show(what); }, &Progress::is_interrupted);
      },
      [&](const record::OutputFile& made) {
        std::vector<std::string> lines;
        if (excerpt.without_times > 0) {
          lines.push_back(std::to_string(excerpt.without_times) +
                          " records of GPU work have no times, so they are in no part of it.");
        }
        if (!excerpt.not_computed.empty()) {
          lines.push_back(job.input + ": " + excerpt.not_computed);
        }
        for (const std::string& name : excerpt.left_out) lines.push_back(name + " is left out.");
        const std::string records = count_of(excerpt.kept, "record");
        // What was not computed has been printed already.
        lines.push_back(
            made.name() + ": " +
            (job.options.finish && excerpt.not_computed.empty()
                 ? "NVTX ranges, busy times, gaps and indexes were computed of " + records
                 : records) +
            (job.in_place ? "" : " of " + job.input));
        return lines;
      });
}

}  // namespace gpuprof::app
