// All that is said of a record.
#pragma once

#include <vector>

#include "libprof/view/links.hpp"
#include "libprof/view/model.hpp"

namespace gpuprof::view {

struct Details {
  std::vector<Section> sections;  // the record itself comes first, without a title
  Links links;
};
Details details(store::Database& database, const Model& model, const Place& place,
                const Item& item);

}  // namespace gpuprof::view
