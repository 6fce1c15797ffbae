#include "apps/gpuprof/output.hpp"

#include <string>

namespace gpuprof::app {

void print_outcome(Recorder& recorder, Log& log) {
  const store::LoadTotals totals = recorder.totals();
  std::string files;
  for (const std::string& file : recorder.files()) files += (files.empty() ? "" : ", ") + file;
  if (files.empty()) {
    if (recorder.failed()) return;  // all were removed, which was told
    log.say("no CUDA activity was captured, so no file was made");
    return;
  }
  std::string losses;
  const auto add_loss = [&](std::uint64_t count, const char* what) {
    if (count) losses += (losses.empty() ? "" : ", ") + std::to_string(count) + what;
  };
  add_loss(totals.missing, " lost");
  add_loss(totals.without_times, " without times");
  add_loss(totals.uncounted, totals.uncounted == 1
                                 ? " process with losses that nobody could count"
                                 : " processes with losses that nobody could count");
  add_loss(totals.not_profiled,
           totals.not_profiled == 1 ? " process not profiled" : " processes not profiled");
  losses = totals.lossless() ? "nothing lost" : losses + " (SELECT * FROM losses says why)";
  if (recorder.still_open()) losses += "; another process has it open, so keep its -wal file";
  if (!recorder.capture_damage().empty()) losses += "; the capture is not whole";
  log.say(files + ": " + std::to_string(totals.records) + " records of " +
          std::to_string(totals.processes) +
          (totals.processes == 1 ? " process, " : " processes, ") + losses);
}

}  // namespace gpuprof::app
