// A record compared with the others of its name.
#pragma once

#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

// Its rank by duration, and their median and p90, among the records of the same name and kind on
// the same device. No rows: it is the only one, or the run has more than 4 million records.
Section read_others(const Model& model, const Place& place, const Item& item);

}  // namespace gpuprof::view
