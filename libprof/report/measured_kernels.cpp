#include "libprof/report/measured_kernels.hpp"
#include "libprof/base/saturating.hpp"

namespace gpuprof::report {
namespace {

store::Statement kernels(Session& session, std::string_view kind) {
  session.output().progress("sorting kernels");
  return session.select(kind,
                        {"correlationId", "name", "deviceId", "start", "end", session.filter(kind)},
                        "ORDER BY 1");
}

}  // namespace

MeasuredKernels::MeasuredKernels(Session& session)
    : cursors_{Cursor{kernels(session, "KERNEL"), false},
               Cursor{kernels(session, "CONCURRENT_KERNEL"), false}} {
  for (Cursor& cursor : cursors_) cursor.there = cursor.rows.step();
}

const MeasuredKernel* MeasuredKernels::find(std::int64_t correlation_id) {
  bool found = false;
  for (auto& [rows, there] : cursors_) {
    for (; there && rows.integer(0) <= correlation_id; there = rows.step()) {
      if (rows.integer(0) < correlation_id) continue;
      found = true;
      kernel_ = {.name = rows.integer(1),
                 .device = rows.integer(2),
                 .duration = saturating_subtract(rows.integer(4), rows.integer(3)),
                 .wanted = rows.integer(5) != 0};
    }
  }
  return found ? &kernel_ : nullptr;
}

}  // namespace gpuprof::report
