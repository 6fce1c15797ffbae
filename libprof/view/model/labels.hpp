// What the page calls things: short kernel names, values with units.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libprof/compute/communication.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::view {

// Names without template arguments and parameters, if the file has them.
class Labels {
 public:
  struct Label {
    std::string display;  // plus as many of these as distinguish it from others in the file
    std::string function;
    std::optional<bool> communicates = {};  // nullopt: only the name says it
  };

  explicit Labels(reading::Tables& tables) : communication_(tables.database()) {
    if (!tables.has("StringTable", "short")) return;
    const std::string display = tables.has("StringTable", "display") ? "display" : "NULL";
    statement_ = tables.database().prepare("SELECT coalesce(" + display +
                                           ", short), short FROM main.StringTable WHERE _id_ = ?1");
    any_ = true;
  }
  Label find(std::int64_t id) {
    Label label;
    if (!any_) return label;
    statement_.bind(1, id);
    if (statement_.step()) {
      label = {std::string(statement_.text(0)), std::string(statement_.text(1)),
               communication_.find(id)};
    }
    statement_.reset();
    return label;
  }

 private:
  compute::CommunicationNames communication_;
  store::Statement statement_;
  bool any_ = false;
};

// "1.5 ms"
std::string time_text(double ns);
std::string counter_text(double value, const std::string& unit);

}  // namespace gpuprof::view
