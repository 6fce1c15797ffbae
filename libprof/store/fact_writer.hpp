// What a stream reports besides rows: function names, NVTX payload layouts, clock readings. Tables
// API_NAME, NVTX_PAYLOAD_ENTRY and CLOCK.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "libprof/store/counts.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// Part of the loader, on its thread. Payloads are validated: what is malformed or beyond a limit is
// dropped and counted. Call inside a transaction.
class FactWriter {
 public:
  // How much of its limits a stream has used (wire/limits.hpp).
  struct Share {
    std::size_t clocks = 0;
    std::size_t api_names = 0;
    std::size_t payload_entries = 0;
  };

  // Both must outlive this object.
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
