// What streams tell of SASS metrics, as rows: SASS_METRIC, SASS_INSTRUCTION and SASS_VALUE; and
// from these, at the end, nvprof's tables.
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

// A part of the loader, on its thread. Payloads are checked before they are believed: what is
// malformed, or beyond a limit, is left out and counted. Inside the caller's transaction.
class SassMetricWriter {
 public:
  // What is remembered of a stream.
  class Share {
    friend class SassMetricWriter;
    struct Context {
      std::uint32_t device;
      std::vector<std::int64_t> metrics;  // SASS_METRIC.id, in the stream's order; 0: left out
      bool whole = false;                 // all values of it are there
    };
    using Place = std::tuple<std::int64_t, std::uint64_t, std::uint32_t>;  // function, pc, device
    std::map<std::uint32_t, Context> contexts_;
    std::map<Place, std::int64_t> instructions_;  // SASS_INSTRUCTION.id
  };

  // All outlive this.
  SassMetricWriter(Database& database, CodeFunctions& functions, Counts& counts);

  void load_metrics(Share& share, const RowContext& process, std::span<const std::byte> payload);
  void load_values(Share& share, CodeFunctions::Share& functions, RowContext& process,
                   std::span<const std::byte> payload);
  // The stream is over.
  void end(const Share& share, const RowContext& process);

 private:
  // 0: there are too many.
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

// GLOBAL_ACCESS, SHARED_ACCESS, BRANCH and INSTRUCTION_EXECUTION, when source lines are known.
// Inside the caller's transaction.
void fill_source_level_tables(Database& database);

}  // namespace gpuprof::store
