// gpuprof finish: the computations at the end of a run, for a file whose run did not reach it.
#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/commands.hpp"

namespace gpuprof::app {
namespace {

struct FinishArguments {
  ExcerptJob job;
  std::string timeline = "auto";
};

int finish(FinishArguments& arguments) {
  using timeline::StoredTimeline;
  ExcerptJob& job = arguments.job;
  job.options.finish = true;
  job.options.timeline = arguments.timeline == "always"  ? StoredTimeline::always
                         : arguments.timeline == "never" ? StoredTimeline::never
                                                         : StoredTimeline::automatic;
  if (job.file.output.empty()) {
    job.file.output = job.input;
    job.file.overwrite = true;
    job.in_place = true;
  }
  if (!job.file.step.empty()) {
    job.options.change = [step = job.file.step](store::Database& database) {
      if (!database.has_table("RUN")) return;  // an nvprof file
      database.prepare("INSERT OR REPLACE INTO RUN VALUES('step', ?1)").bind(1, step).run();
    };
  }
  return write_excerpt(job);
}

void declare_finish(Grammar& grammar, FinishArguments& arguments) {
  ExcerptJob& job = arguments.job;
  grammar.take_file("profile", job.input, "The profile to finish");
  take_file_options(grammar, job);
  grammar.take_options(job.file, {"step"});
  grammar.take("--timeline", &arguments.timeline,
               "Store the timeline, so that gpuprof view opens at once however long the "
               "run is: always, never, or auto, from 30 million records on (auto). It "
               "takes about a tenth of the file's size",
               "WHEN", {"auto", "always", "never"});
  grammar.footer(
      "\nA run that ends in order does this itself. A file whose gpuprof was killed has all "
      "records\n"
      "that had come, and lacks what is computed of them: paired NVTX ranges, the range of each\n"
      "launch, busy times and gaps of the devices, indexes. The same goes for a file that "
      "somebody\n"
      "has changed, and for one of an older gpuprof.\n"
      "\n"
      "Without -o the file is replaced when its successor is complete. Records that never came\n"
      "stay missing: gpuprof info goes on to say that the file was not finished. Where Ctrl-C "
      "ended\n"
      "the computing alone, nothing is missing afterwards. Files of nvprof get indexes: they have "
      "no\n"
      "tables for the rest.");
}

}  // namespace

extern const Subcommand finish_command{
    .name = "finish",
    .usage = "FILE [-o FILE]",
    .help = "Compute what is missing in a file whose gpuprof was killed",
    .rare = true,
    .declare = command<FinishArguments, declare_finish, finish>,
};

}  // namespace gpuprof::app
