// gpuprof finish: what a run computes at its end, for a file whose run did not come to that.
#include <CLI/CLI.hpp>
#include <memory>

#include "apps/gpuprof/command/new_profile.hpp"
#include "apps/gpuprof/commands.hpp"

namespace gpuprof::app {
namespace {

int finish(ExcerptJob& job) {
  if (job.file.output.empty()) {
    job.file.output = job.input;
    job.file.overwrite = true;
    job.in_place = true;
  }
  return write_excerpt(job);
}

std::function<int()> declare(CLI::App& app) {
  auto job = std::make_shared<ExcerptJob>();
  app.add_option("profile", job->input, "The profile to finish")->required()->option_text("FILE");
  add_file_options(app, *job);
  app.get_option("--export-profile")->required(false);
  app.footer(
      "\nA run that ends in order does this itself. A file whose gpuprof was killed has all "
      "records\n"
      "that had come, and lacks what is computed of them: paired NVTX ranges, the range of each\n"
      "launch, busy times and gaps of the devices, indexes. The same goes for a file that "
      "somebody\n"
      "has changed, and for one of an older gpuprof.\n"
      "\n"
      "Without -o the file is replaced when its successor is complete. Records that never came\n"
      "stay missing: gpuprof info goes on to say that the file was not finished.");
  return [job] { return finish(*job); };
}

}  // namespace

extern const Subcommand finish_command{
    .name = "finish",
    .usage = "FILE [-o FILE]",
    .help = "Compute what is missing in a file whose gpuprof was killed",
    .declare = declare,
};

}  // namespace gpuprof::app
