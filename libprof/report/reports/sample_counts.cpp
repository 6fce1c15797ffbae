// A note after other reports: which PC samples and SASS counts exist, and which options print them.
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/pm_samples.hpp"

namespace gpuprof::report {
namespace {

void print_sample_counts(Session& session) {
  Output& output = session.output();
  if (!output.text()) return;
  store::Database& database = session.database();
  std::int64_t gaps = 0, counters = 0;
  for (const auto& [device, of_device] : pm_gaps(session)) gaps += of_device.count;
  if (database.has_table("PM_SAMPLE") && database.has_column("PM_SAMPLE", "part")) {
    counters = database.integer("SELECT count(*) FROM PM_SAMPLE WHERE part = 0").value_or(0);
  }
  if (counters > 0 || gaps > 0) {
    output.heading(count_of(counters, "PM sample") + ", " +
                   (gaps == 0 ? "no gaps" : count_of(gaps, "gap")) + ": --" +
                   std::string(pm_sampling.option));
  }
  if (!session.chosen(sass_metrics.option) && database.has_table("SASS_VALUE") &&
      database.integer("SELECT 1 FROM SASS_VALUE LIMIT 1")) {
    output.heading("SASS metrics by source line: --" + std::string(sass_metrics.option));
  }
  // For nvprof's files the whole summary of PC samples is printed.
  if (!session.has_column("PC_SAMPLING", "stallReasonId")) return;
  std::int64_t samples = 0;
  auto rows = session.select("PC_SAMPLING", {"samples"});
  while (rows.step()) samples = saturating_add(samples, rows.integer(0));
  if (samples > 0) {
    output.heading(count_of(samples, "PC sample") + ": --" + std::string(pc_hot_lines.option));
  }
}

}  // namespace

extern const Report sample_counts{
    .phase = Phase::always,
    .order = 1,
    .does = Printer{print_sample_counts},
};

}  // namespace gpuprof::report
