// All that is said of a record.
#pragma once

#include <vector>

#include "libprof/view/links.hpp"
#include "libprof/view/model.hpp"

namespace gpuprof::view {

struct Details {
  // What people ask first, without a title; what was measured; last "All columns", without those
  // that were said before.
  std::vector<Section> sections;
  Links links;
};
Details details(store::Database& database, const Model& model, const Place& place,
                const Item& item);

}  // namespace gpuprof::view
