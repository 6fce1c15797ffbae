// Kernels' names for where there is little room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "libprof/read/tables.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::view {

// The name that has no template arguments and parameters, where the file has one.
class Labels {
 public:
  explicit Labels(reading::Tables& tables) {
    if (!tables.has("StringTable", "short")) return;
    const std::string display = tables.has("StringTable", "display") ? "display" : "NULL";
    statement_ = tables.database().prepare("SELECT coalesce(" + display +
                                           ", short) FROM main.StringTable WHERE _id_ = ?1");
    any_ = true;
  }
  std::string find(std::int64_t id) {
    if (!any_) return {};
    statement_.bind(1, id);
    std::string label(statement_.step() ? statement_.text(0) : std::string_view());
    statement_.reset();
    return label;
  }

 private:
  store::Statement statement_;
  bool any_ = false;
};

}  // namespace gpuprof::view
