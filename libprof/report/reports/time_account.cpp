// On a terminal the summary begins with where the time of each GPU went: a list of kernels does not
// show that a GPU was idle. In files and pipes the summary is nvprof's.
#include "libprof/report/account.hpp"
#include "libprof/report/all_reports.hpp"

namespace gpuprof::report {
namespace {

void print_time_account(Session& session) {
  const ReportOptions& options = session.options();
  const Filter& filter = options.filter;
  const bool is_part = filter.from.given() || filter.to.given() || !filter.kernels.empty() ||
                       !filter.devices.empty();
  if (!options.for_a_person || is_part || !session.output().text()) return;
  if (!options.chosen.empty() && !session.chosen(print_summary.option)) return;
  if (const auto account = stored_account(session.database())) {
    print_account_briefly(*account, session.output());
  }
}

}  // namespace

extern const Report time_account{
    .phase = Phase::values,
    .order = 0,
    .does = Printer{print_time_account},
};

}  // namespace gpuprof::report
