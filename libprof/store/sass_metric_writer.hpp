// Stores SASS metrics from streams: SASS_METRIC, SASS_INSTRUCTION and SASS_VALUE; from these, at
// the end, nvprof's tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "libprof/store/code_functions.hpp"
#include "libprof/store/counts.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/sass_metrics.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Payloads are validated: what is malformed or beyond a limit is
// dropped and counted. Call inside a transaction.
class SassMetricWriter {
 public:
  // What is remembered per stream.
  class Share {
    friend class SassMetricWriter;
    struct Context {
      std::uint32_t device;
      std::vector<std::int64_t> metrics;  // SASS_METRIC.id, in the stream's order; 0: dropped
      bool whole = false;                 // all its values have arrived
    };
    using Place = std::tuple<std::int64_t, std::uint64_t, std::uint32_t>;  // function, pc, device
    std::map<std::uint32_t, Context> contexts_;
    std::map<Place, std::int64_t> instructions_;  // SASS_INSTRUCTION.id
  };

  // All must outlive this object.
  SassMetricWriter(Database& database, CodeFunctions& functions, Counts& counts);

  void load_metrics(Share& share, const RowContext& process, std::span<const std::byte> payload);
  void load_values(Share& share, CodeFunctions::Share& functions, RowContext& process,
                   std::span<const std::byte> payload);
  // Call at the end of the stream.
  void end(const Share& share, const RowContext& process);

 private:
  // 0: too many metrics.
  std::int64_t metric_id(const wire::SassMetric& metric);
  std::int64_t instruction_id(Share& share, const RowContext& process, const Share::Place& place);

  Database& database_;
  CodeFunctions& functions_;
  Counts& counts_;
  std::map<std::string, std::int64_t, std::less<>> metrics_;  // by name
  std::int64_t last_instruction_ = 0;
  Statement insert_instruction_;
  Statement insert_value_;
};

// Fills GLOBAL_ACCESS, SHARED_ACCESS, BRANCH and INSTRUCTION_EXECUTION, once source lines are
// known. Call inside a transaction.
void fill_source_level_tables(Database& database);

}  // namespace gpuprof::store
