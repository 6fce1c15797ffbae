// Stores PC sampling data from streams: PC_SAMPLING, PC_SAMPLING_RECORD_INFO and PC_STALL_REASON.
//
// Further samples of the same instruction and reason are added to the existing row as long as it is
// remembered; readers sum rows anyway.
#pragma once

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
#include "libprof/wire/pc_samples.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Payloads are validated: what is malformed or beyond a limit is
// dropped and counted. Call inside a transaction.
class PcSampleWriter {
 public:
  // What is remembered per stream.
  class Share {
    friend class PcSampleWriter;
    // CUPTI's reason number -> ours, and whether it counts samples that were not issued.
    struct Reason {
      std::int64_t id;
      bool not_issued;
    };
    struct Context {
      std::int64_t totals;  // row of PC_SAMPLING_RECORD_INFO
      std::int64_t period;
      std::map<std::uint32_t, Reason> reasons;
    };
    struct Place {
      std::int64_t function;
      std::uint64_t offset;
      std::int64_t reason;
      std::uint32_t device;
      bool operator==(const Place&) const = default;
    };
    struct Hash {
      std::size_t operator()(const Place& place) const;
    };
    std::map<std::uint32_t, Context> contexts_;
    std::unordered_map<Place, std::int64_t, Hash> rows_;  // of PC_SAMPLING
  };

  // All must outlive this object.
  PcSampleWriter(Database& database, CodeFunctions& functions, Counts& counts);

  void load_sampling(Share& share, const RowContext& process, std::span<const std::byte> payload);
  void load_samples(Share& share, CodeFunctions::Share& functions, RowContext& process,
                    std::span<const std::byte> payload);

 private:
  // 0: too many reasons.
  std::int64_t reason_id(std::string_view name, std::uint32_t cupti_index);
  void add(Share& share, const RowContext& process, const Share::Place& place,
           std::int64_t correlation, std::uint64_t samples, std::uint64_t not_issued);
  void add_launches(const Share::Context& context, const RowContext& process,
                    const wire::PcSamples& samples,
                    const std::map<std::int64_t, std::uint64_t>& by_launch);

  Database& database_;
  CodeFunctions& functions_;
  Counts& counts_;
  std::map<std::string, std::int64_t, std::less<>> reasons_;  // by name
  std::map<std::int64_t, std::int64_t> reason_kinds_;         // nvprof's number, by ours
  std::int64_t last_row_ = 0;
  Statement insert_;
  Statement update_;
};

}  // namespace gpuprof::store
