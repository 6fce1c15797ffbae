// Stores what streams count of instructions. PC samples: PC_SAMPLING, PC_SAMPLING_RECORD_INFO and
// PC_STALL_REASON. SASS metrics: SASS_METRIC, SASS_INSTRUCTION and SASS_VALUE; from these, at the
// end, nvprof's tables.
//
// Further samples of the same instruction and reason are added to the existing row as long as it is
// remembered; readers sum rows anyway.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "libprof/store/code_functions.hpp"
#include "libprof/store/counts.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/code_values.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Payloads are validated: what is malformed or beyond a limit is
// dropped and counted. Call inside a transaction.
class CodeValueWriter {
 public:
  // What is remembered per stream.
  class Share {
    friend class CodeValueWriter;
    struct Counter {
      std::int64_t id;  // of PC_STALL_REASON or SASS_METRIC
      bool not_issued;  // counts samples that were not issued
    };
    struct Context {
      std::uint32_t device = 0;
      std::int64_t period = 0;
      std::int64_t totals = 0;                    // row of PC_SAMPLING_RECORD_INFO
      bool whole = false;                         // all its values have arrived
      std::map<std::uint32_t, Counter> counters;  // by the stream's index
    };
    struct Place {
      std::int64_t function;
      std::uint64_t offset;
      std::int64_t reason;  // 0: not of samples
      std::uint32_t device;
      bool operator==(const Place&) const = default;
    };
    struct Hash {
      std::size_t operator()(const Place& place) const;
    };
    struct OfKind {
      std::map<std::uint32_t, Context> contexts;
      std::unordered_map<Place, std::int64_t, Hash> rows;  // of PC_SAMPLING or SASS_INSTRUCTION
    };
    std::array<OfKind, 2> kinds_;  // by wire::CodeKind
    CodeFunctions::Share functions_;
  };

  // All must outlive this object.
  CodeValueWriter(Database& database, StringWriter& strings, Counts& counts);

  void load_counters(wire::CodeKind kind, Share& share, const RowContext& process,
                     std::span<const std::byte> payload);
  void load_values(wire::CodeKind kind, Share& share, RowContext& process,
                   std::span<const std::byte> payload);
  // Call at the end of the stream.
  void end(const Share& share, const RowContext& process);

 private:
  struct Sums {
    std::uint64_t values, not_issued;
  };

  // 0: too many counters.
  std::int64_t counter_id(wire::CodeKind kind, std::string_view name,
                          const wire::CodeCounter& counter);
  // The row remembered for the place, or else a number for a new one.
  static std::pair<std::int64_t, bool> row_of(Share::OfKind& of_kind, const Share::Place& place,
                                              std::int64_t& last);
  void add_samples(Share::OfKind& of_kind, const RowContext& process, const Share::Place& place,
                   std::int64_t correlation, const Sums& sums);
  std::int64_t instruction_id(Share::OfKind& of_kind, const RowContext& process,
                              const Share::Place& place);
  void insert_totals(Share::Context& context, std::uint32_t id, const RowContext& process);
  void add_totals(const Share::Context& context, const RowContext& process,
                  const wire::CodeValues& samples,
                  const std::map<std::int64_t, std::uint64_t>& by_launch);

  Database& database_;
  CodeFunctions functions_;
  Counts& counts_;
  std::array<std::map<std::string, std::int64_t, std::less<>>, 2> ids_;  // by kind and name
  std::map<std::int64_t, std::int64_t> reason_kinds_;                    // nvprof's number, by ours
  std::int64_t last_row_ = 0;
  std::int64_t last_instruction_ = 0;
  Statement insert_samples_;
  Statement update_samples_;
  Statement insert_instruction_;
  Statement insert_value_;
};

// Fills GLOBAL_ACCESS, SHARED_ACCESS, BRANCH and INSTRUCTION_EXECUTION, once source lines are
// known. Call inside a transaction.
void fill_source_level_tables(Database& database);

}  // namespace gpuprof::store
