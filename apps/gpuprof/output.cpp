#include "apps/gpuprof/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "libprof/base/error.hpp"

namespace gpuprof::app {

TemporaryProfile::TemporaryProfile() {
  const char* temporary = std::getenv("TMPDIR");
  folder_ = std::string(temporary && *temporary ? temporary : "/tmp") + "/gpuprof-XXXXXX";
  if (!mkdtemp(folder_.data())) {
    throw Error("no temporary folder at " + folder_ + ": " + std::strerror(errno),
                "name a file with -o, or set TMPDIR", ExitCode::output_failed);
  }
}

TemporaryProfile::~TemporaryProfile() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

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
