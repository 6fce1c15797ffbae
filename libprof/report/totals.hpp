// Sums over the rows of one table.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libprof/report/session.hpp"
#include "libprof/report/summary.hpp"

namespace gpuprof::report {

// By what the table names its rows with: a string id, a kind.
using Totals = std::map<std::int64_t, Total>;

enum class Validity {
  gpu_work,  // start > 0 and end > start
  api_call,  // end = start is a call too
};

// Rows of the kind that pass the session's filter, summed up by the column `key`, which has whole
// numbers; empty: all under 0. Rows without valid times are left out and counted for the session. A
// table that is missing is empty.
Totals read_totals(Session& session, std::string_view kind, std::string_view key,
                   Validity validity);

}  // namespace gpuprof::report
