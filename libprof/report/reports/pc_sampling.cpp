// Printed with nvprof's reports: "PC SAMPLING SUMMARY", if samples are attributed to launches.
#include "libprof/report/all_reports.hpp"
#include "libprof/report/pc_summary.hpp"

namespace gpuprof::report {
namespace {

void print_pc_sampling(Session& session) {
  if (session.chosen(pc_hot_lines.option) || !session.has_rows("PC_SAMPLING")) return;
  if (!samples_of_all_launches(session)) print_pc_summary(session, false);
}

}  // namespace

extern const Report pc_sampling{
    .phase = Phase::behind,
    .order = 1,
    .does = Printer{print_pc_sampling},
};

}  // namespace gpuprof::report
