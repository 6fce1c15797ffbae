// How many records a file has, which all that say it say alike: the rows of its tables of CUPTI's
// activity kinds, devices and names among them, and as many as came from CUPTI.
#pragma once

#include <cstdint>
#include <string>

#include "libprof/read/tables.hpp"

namespace gpuprof::reading {

// Of one table. `by_ids`: out of its first and last id, without reading it, which is right where
// rows are numbered without gaps, as in recordings.
std::int64_t count_records(Tables& tables, const std::string& table, bool by_ids);

// Of all of them. `by_ids`: the file is undamaged and one of ours; it may be a part of another.
std::int64_t count_records(store::Database& database, bool by_ids);

// A recording: not a part of another file, whose rows keep their ids.
bool numbers_records(Tables& tables);

}  // namespace gpuprof::reading
