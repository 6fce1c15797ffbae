// Which metrics a run collects, as rows: METRIC and METRIC_GROUP.
//
// A part of the loader, on its thread. Frames are checked before they are believed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

class MetricWriter {
 public:
  // The database has its tables and outlives this.
  explicit MetricWriter(Database& database) : database_(database) {}

  // The payload of a frame; false: malformed, and nothing of it is stored. When metrics come again,
  // they may be more, but not others.
  bool load_metrics(std::span<const std::byte> payload);

 private:
  Database& database_;
  std::vector<std::string> metrics_;  // names
};

}  // namespace gpuprof::store
