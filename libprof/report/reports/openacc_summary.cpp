// The section "OpenACC" of the summary: time by directive.
#include "libprof/report/directives.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::report {
namespace {

std::vector<SummaryRow> read_openacc_summary(Session& session) {
  OpenaccNames names(session);
  std::vector<SummaryRow> rows;
  for (const OpenaccRecord& record : read_openacc(session, names)) {
    if (record.name >= rows.size()) rows.resize(record.name + 1);
    Total& total = rows[record.name].total;
    total.add(record.time);
    if (session.options().statistics) total.durations.push_back(record.time);
  }
  for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i].name = names.text(i);
  return rows;
}

std::string label(const Session& session) {
  return session.options().openacc_inclusive ? "OpenACC (incl)" : "OpenACC (excl)";
}

}  // namespace

extern const Report openacc_summary{
    .option = "print-openacc-summary",
    .help = "Summary of OpenACC directives",
    .phase = Phase::summary,
    .order = 3,
    .does = Section{.rows = read_openacc_summary,
                    .label = label,
                    .nothing = "No OpenACC activities were profiled.",
                    .nothing_if_asked = true,
                    .by_default = true,
                    .per_device = true},
};

}  // namespace gpuprof::report
