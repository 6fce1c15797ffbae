// A note after reports of API calls if not all calls were collected.
#include <algorithm>

#include "libprof/report/all_reports.hpp"

namespace gpuprof::report {
namespace {

// A foreign file may have a different table with that name.
bool left_out(store::Database& database) {
  if (!database.has_table("RUN")) return false;
  return database.has_column("RUN", "key") && database.has_column("RUN", "value") &&
         database.integer(
             "SELECT 1 FROM RUN WHERE key = 'calls_left_out' AND value NOT IN ('none', '')") == 1;
}

bool shows_calls(const Session& session) {
  const bool trace = std::ranges::any_of(reports(), [&](const Report* report) {
    return report->phase == Phase::trace && session.chosen(report->option);
  });
  return trace ? session.chosen(api_trace.option) : shows_section(session, api_calls);
}

void print_calls_left_out(Session& session) {
  // CSV and JSON readers would stumble over it; table RUN has the fact.
  if (!session.output().text() || !shows_calls(session) || !left_out(session.database())) return;
  session.output().heading("API calls that only ask are left out: --trace +queries");
}

}  // namespace

extern const Report calls_left_out{
    .phase = Phase::always,
    .order = 0,
    .does = Printer{print_calls_left_out},
};

}  // namespace gpuprof::report
