// Where a run is worth looking at first.
#pragma once

#include "libprof/view/model/stops.hpp"

namespace gpuprof::view {

// The longest series of at least three steps that took at most twice the median of `stops`, which
// leaves out slow ones at the beginning. Without one: the time from the first GPU work to the last,
// without the side with less work of a gap that is longer than half of that time.
Window find_first_view(store::Database& database, const Model& model, const Stops& stops);

}  // namespace gpuprof::view
