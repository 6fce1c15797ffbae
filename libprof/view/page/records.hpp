// Individual records, for a report, which has no server to query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "libprof/view/model/model.hpp"
#include "libprof/view/page/packed.hpp"

namespace gpuprof::view {

// Writes the records of these tracks that are open in [from, to), in the format of view/TILES.md.
// Marks the names that are used.
void pack_records(const Model& model, std::span<const std::uint32_t> tracks, std::int64_t from,
                  std::int64_t to, Packed& packed, std::vector<bool>& names);

}  // namespace gpuprof::view
