// Fills NVTX_PAYLOAD from MARKER_DATA and NVTX_PAYLOAD_ENTRY: the fields of payloads with a known
// layout, as numbers and texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/store/sqlite.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

// A field's value. At most one of integer and real is set; an enum value has both its number and
// its name as text.
struct PayloadValue {
  std::string field;
  std::optional<std::int64_t> integer = {};
  std::optional<double> real = {};
  std::optional<std::string> text = {};
};

using PayloadSchemaMap = std::map<std::uint64_t, wire::PayloadSchema>;  // of one domain, by id

// Decodes a payload by `schema`, which is one of `schemas` or a built-in NVTX type. Fields past the
// payload's end, behind a pointer or of an unknown type get no value. Returns at most
// `most_values`.
std::vector<PayloadValue> read_payload(std::span<const std::byte> payload, std::uint64_t schema,
                                       const PayloadSchemaMap& schemas);
inline constexpr std::size_t most_values = 1024;

// Recomputes the table from the whole database, inside the caller's transaction.
void compute_nvtx_payloads(Database& database);

}  // namespace gpuprof::store
