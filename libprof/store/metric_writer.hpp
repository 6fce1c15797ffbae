// Frames about metrics as rows: METRIC, METRIC_GROUP, METRIC_RANGE, METRIC_VALUE, and nvprof's
// tables METRIC and EVENT for the values that nvprof has an id for.
//
// A part of the loader, on its thread. Frames are checked before they are believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/packed_rows.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/measures.hpp"
#include "schema/nvprof_ids.hpp"

namespace gpuprof::store {

class MetricWriter {
 public:
  // `string_id` gives the StringTable id of a text. The database has its tables and outlives this.
  MetricWriter(Database& database, std::function<std::int64_t(std::string_view)> string_id);

  // Payloads of frames; false: malformed, and nothing of it is stored. The metrics must come before
  // their values. When they come again, they may be more, but not others.
  bool load_metrics(std::span<const std::byte> payload);
  bool load_values(RowContext& process, std::span<const std::byte> payload);

 private:
  struct Metric {
    std::string name;
    std::int64_t nvprof_id = 0;  // 0: nvprof has none
    schema::MetricKind kind{};
    bool is_event = false;
  };

  std::int64_t store_range(RowContext& process, const wire::MetricValues& values,
                           const wire::MeasuredRange& range, std::int64_t correlation,
                           std::string_view note);
  void store_for_nvprof(const RowContext& process, const Metric& metric, std::int64_t correlation,
                        double value);

  Database& database_;
  std::function<std::int64_t(std::string_view)> string_id_;
  std::vector<Metric> metrics_;
  std::int64_t last_range_ = 0;
  Statement insert_range_;
  Statement insert_value_;
  Statement insert_nvprof_metric_;
  Statement insert_nvprof_event_;
};

}  // namespace gpuprof::store
