// The number of records in a file, defined once for everything that prints it: the rows of its
// tables of CUPTI activity kinds, including devices and names, as many as CUPTI delivered.
#pragma once

#include <cstdint>
#include <string>

#include "libprof/read/tables.hpp"

namespace gpuprof::reading {

// Records of one table. `by_ids`: computed from its first and last id without reading it, which is
// right if rows are numbered without gaps, as in recordings.
std::int64_t count_records(Tables& tables, const std::string& table, bool by_ids);

// Records of all tables. `by_ids`: the file is undamaged and ours; it may be an excerpt.
std::int64_t count_records(store::Database& database, bool by_ids);

// Whether it is a recording, not an excerpt, whose rows keep their ids.
bool numbers_records(Tables& tables);

}  // namespace gpuprof::reading
