// Sums over the rows of one table.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"

namespace gpuprof::report {

// Keyed by what identifies names in the table: a string id, a kind.
using Totals = std::map<std::int64_t, Total>;

enum class Validity {
  gpu_work,  // start > 0 and end > start
  api_call,  // end = start is a valid call
};

// Totals of the rows of the kind that pass the session's filter, grouped by the integer column
// `key`; if it is empty, all under 0. Rows without valid times are skipped and counted in the
// session. A missing table counts as empty.
Totals read_totals(Session& session, std::string_view kind, std::string_view key,
                   Validity validity);

}  // namespace gpuprof::report
