// What a stream tells besides rows: names of functions, layouts of NVTX payloads, readings of its
// clocks. Tables API_NAME, NVTX_PAYLOAD_ENTRY and CLOCK.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libprof/store/counts.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// A part of the loader, on its thread. Payloads are checked before they are believed: what is
// malformed, or beyond a limit, is left out and counted. Inside the caller's transaction.
class FactWriter {
 public:
  // What a stream has taken of what it may (wire/limits.hpp).
  struct Share {
    std::size_t clocks = 0;
    std::size_t api_names = 0;
    std::size_t payload_entries = 0;
  };

  // Both outlive this.
  FactWriter(Database& database, Counts& counts) : database_(database), counts_(counts) {}

  void load_api_names(Share& share, std::int64_t process_id, std::span<const std::byte> payload);
  void load_payload_schema(Share& share, std::int64_t process_id,
                           std::span<const std::byte> payload);
  void load_clock(Share& share, std::int64_t process_id, std::span<const std::byte> payload);

 private:
  Database& database_;
  Counts& counts_;
};

}  // namespace gpuprof::store
