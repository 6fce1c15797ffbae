#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <optional>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/output.hpp"
#include "apps/gpuprof/recorder.hpp"
#include "libprof/base/error.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {

int replay_command(const Options& options) {
  wire::CaptureReader capture(options.input);
  std::optional<TemporaryProfile> temporary;
  if (options.output.empty()) temporary.emplace();
  Recorder recorder({.output = temporary ? temporary->path() : options.output,
                     .overwrite = options.overwrite,
                     .loader = {.live = false, .indexes = options.indexes},
                     .capture = {}});
  const bool progress = isatty(2) && !options.quiet && capture.size() > (64u << 20);
  int shown = -1;
  wire::Frame frame;
  while (capture.next(frame)) {
    recorder.take(std::move(frame));
    const int percent = static_cast<int>(100 * capture.bytes_read() / capture.size());
    if (progress && percent != shown) {
      shown = percent;
      std::fprintf(stderr, "\rloading %3d %%", percent);
    }
  }
  if (progress) std::fprintf(stderr, "\r             \r");
  if (!capture.damage().empty()) recorder.count("frames_malformed", 1);
  recorder.finish();
  if (!capture.damage().empty()) {
    std::fprintf(stderr, "gpuprof: %s; what came before is loaded\n", capture.damage().c_str());
  }
  if (temporary) {
    if (store::Loader* loader = recorder.only_loader()) {
      report::print_reports(loader->database(), std::cerr, options.reports);
    }
  } else if (!options.quiet) {
    print_outcome(recorder);
  }
  return capture.damage().empty() ? 0 : static_cast<int>(ExitCode::import_failed);
}

}  // namespace gpuprof::app
