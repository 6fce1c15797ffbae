// Individual records, for a report, which has no server to query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libprof/view/model/model.hpp"
#include "libprof/view/page/packed.hpp"

namespace gpuprof::view {

// Writes the records of these tracks that are open in [from, to); client/records.js reads them. All
// numbers are LEB128; those that may be negative are stored as 2n, or as -2n - 1 if negative.
// Layout: the number of tracks; for each its number and number of rows; for each row the number of
// records and, unless 0, the index of the first one and its begin minus `from` (signed), then for
// every other record the time since the end of the one before, then all lengths, then all names.
// Then, for a counter, the number of values, the time of the first (signed) and the time from each
// to the next, and the values as doubles of 8 bytes: those in [from, to) and the one before. Marks
// the names that are used.
void pack_records(const Model& model, std::span<const std::uint32_t> tracks, std::int64_t from,
                  std::int64_t to, Packed& packed, std::vector<bool>& names);

}  // namespace gpuprof::view
