// The metrics that a run collects: tables METRIC and METRIC_GROUP.
//
// Part of the loader, on its thread. Frames are validated.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

class MetricWriter {
 public:
  // The database has its tables and must outlive this object.
  explicit MetricWriter(Database& database) : database_(database) {}

  // Loads the payload of a frame. False: malformed, and nothing is stored. A later frame may add
  // metrics but not change them.
  bool load_metrics(std::span<const std::byte> payload);

 private:
  Database& database_;
  std::vector<std::string> metrics_;  // names
};

}  // namespace gpuprof::store
