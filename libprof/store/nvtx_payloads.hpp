// NVTX_PAYLOAD out of MARKER_DATA and NVTX_PAYLOAD_ENTRY: the fields of payloads that have a
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

// A value of a field. At most one of integer and real is there; with the name an enum has for a
// number both that and the text are.
struct PayloadValue {
  std::string field;
  std::optional<std::int64_t> integer = {};
  std::optional<double> real = {};
  std::optional<std::string> text = {};
};

using PayloadSchemaMap = std::map<std::uint64_t, wire::PayloadSchema>;  // of one domain, by id

// Reads a payload by `schema`, which is one of `schemas` or a type of NVTX itself. What lies beyond
// its end, behind a pointer, or has a type nobody knows has no value. At most `most_values`.
std::vector<PayloadValue> read_payload(std::span<const std::byte> payload, std::uint64_t schema,
                                       const PayloadSchemaMap& schemas);
inline constexpr std::size_t most_values = 1024;

// Computed anew from all of the database, inside the caller's transaction.
void compute_nvtx_payloads(Database& database);

}  // namespace gpuprof::store
