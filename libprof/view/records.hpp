// Records one by one, for a report: no server is asked what they look like.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libprof/view/model.hpp"
#include "libprof/view/packed.hpp"

namespace gpuprof::view {

// Of these tracks, those that are open in [from, to); client/records.js reads them. All numbers are
// LEB128, those that may be negative as 2n, or -2n - 1 if they are: how many tracks; of each its
// number, how many rows; of each how many records, and if any, the place of the first and how long
// after `from` it begins (signed); then of each other one the time since the end of the one before,
// of all how long they are, and of all their names. Then of a counter how many values, the time of
// the first (signed) and from each to the next, and the values, as doubles of 8 bytes: those in
// [from, to) and the one before. Names that are used are marked.
void pack_records(const Model& model, std::span<const std::uint32_t> tracks, std::int64_t from,
                  std::int64_t to, Packed& packed, std::vector<bool>& names);

}  // namespace gpuprof::view
