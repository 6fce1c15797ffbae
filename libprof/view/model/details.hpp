// Everything the viewer shows about a record.
#pragma once

#include <vector>

#include "libprof/view/model/links.hpp"
#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

struct Details {
  // First the most wanted facts, without a title; then measured values; last "All columns", without
  // those already shown.
  std::vector<Section> sections;
  Links links;
};
Details details(store::Database& database, const Model& model, const Place& place,
                const Item& item);

}  // namespace gpuprof::view
