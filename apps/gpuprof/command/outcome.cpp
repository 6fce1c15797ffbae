#include "apps/gpuprof/command/outcome.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/cost.hpp"
#include "libprof/report/stalled_work.hpp"

namespace gpuprof::app {

namespace {

// Why data is missing, if there is a single reason; otherwise where to look.
std::string why(record::Recorder& recorder) {
  std::set<std::string> reasons;
  bool unexplained = false;
  try {
    for (store::Loader* loader : recorder.loaders()) {
      auto losses = loader->database().prepare("SELECT DISTINCT reason FROM losses");
      while (losses.step()) {
        unexplained |= losses.is_null(0);
        if (!losses.is_null(0)) reasons.emplace(losses.text(0));
      }
    }
  } catch (const Error&) {
    unexplained = true;  // interrupted
  }
  if (unexplained || reasons.size() != 1) return "SELECT * FROM losses says why";
  return printable(std::string_view(*reasons.begin()).substr(0, 300));
}

// "1200 samples of counters with 2 gaps, 700 PC samples"; empty: nothing was sampled.
std::string sampled(record::Recorder& recorder) {
  std::int64_t samples = 0;
  std::int64_t gaps = 0;
  std::int64_t pc_samples = 0;
  for (const store::Loader* loader : recorder.loaders()) {
    // Each file has all samples of counters.
    samples = std::max(samples, loader->samples().samples);
    gaps = std::max(gaps, loader->samples().gaps);
    pc_samples = saturating_add(pc_samples, loader->samples().pc_samples);
  }
  std::string text;
  if (samples > 0 || gaps > 0) {
    text = std::to_string(samples) + " samples of counters" +
           (gaps == 0   ? ""
            : gaps == 1 ? " with a gap"
                        : " with " + std::to_string(gaps) + " gaps");
  }
  if (pc_samples > 0) {
    text += (text.empty() ? "" : ", ") + std::to_string(pc_samples) + " PC samples";
  }
  return text;
}

void print_cost(record::Recorder& recorder, Log& log) {
  reading::Cost cost;
  try {
    for (store::Loader* loader : recorder.loaders()) cost += reading::read_cost(loader->database());
  } catch (const Error&) {
    return;  // interrupted
  }
  if (cost.known()) log.say("cost: " + reading::text_of(cost));
}

// What the program waited for when it was ended.
void print_stalled(record::Recorder& recorder, Log& log, std::int64_t after) {
  try {
    for (store::Loader* loader : recorder.loaders()) {
      report::StalledWork work;
      for (const std::string& text : work.read(loader->database(), after)) log.say(text);
    }
  } catch (const Error&) {
    return;  // interrupted
  }
}

// How times were taken, if that was asked for; ends with ", ".
std::string hw_trace(record::Recorder& recorder) {
  for (store::Loader* loader : recorder.loaders()) {
    auto row = loader->database().prepare("SELECT value FROM RUN WHERE key = 'hw_trace'");
    if (!row.step()) continue;
    const std::string used(row.text(0));
    return "hardware tracing " +
           (used.starts_with("off: ") ? "off (" + used.substr(5) + ")" : used) + ", ";
  }
  return {};
}

}  // namespace

void print_outcome(record::Recorder& recorder, Log& log, Outcome wanted) {
  const store::LoadTotals totals = recorder.totals();
  const std::string files = joined(recorder.files(), ", ");
  if (files.empty()) {
    if (!recorder.kept().empty()) {
      return log.say("0 records, so " + recorder.kept() + " stays as it was");
    }
    if (recorder.failed()) return;  // all files were removed, as already reported
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
  add_loss(totals.budget_cuts, totals.budget_cuts == 1 ? " kind of rows given up for --budget"
                                                       : " kinds of rows given up for --budget");
  constexpr std::string_view nothing = "nothing lost";
  losses = totals.lossless() ? std::string(nothing) : losses + " (" + why(recorder) + ")";
  if (recorder.still_open()) losses += "; another process has it open, so keep its -wal file";
  if (!recorder.capture_damage().empty()) losses += "; the capture is not whole";
  const std::string samples = sampled(recorder);
  if (totals.processes == 0 && !samples.empty()) {
    return log.say(files + ": " + samples + ", " + losses);
  }
  if (totals.processes == 0 && totals.lossless()) {
    return log.say(files + ": 0 records: no process used CUDA" + losses.substr(nothing.size()));
  }
  if (wanted.cost) print_cost(recorder, log);
  print_stalled(recorder, log, wanted.hang_after);
  const std::string older =
      totals.let_go > 0 ? ", " + std::to_string(totals.let_go) + " older ones let go, " : ", ";
  log.say(files + ": " + std::to_string(totals.records - std::min(totals.records, totals.let_go)) +
          " records of " + std::to_string(totals.processes) +
          (totals.processes == 1 ? " process" : " processes") + older +
          (samples.empty() ? "" : samples + ", ") + hw_trace(recorder) + losses);
}

}  // namespace gpuprof::app
