#include "libprof/collect/payload_schemas.hpp"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>

#include "libprof/wire/limits.hpp"
#include "schema/activity/markers.hpp"

namespace gpuprof::collect {
namespace {

static_assert(sizeof(schema::extract::ExtendedPayload) == sizeof(nvtxPayloadData_t) &&
              offsetof(schema::extract::ExtendedPayload, size) ==
                  offsetof(nvtxPayloadData_t, size) &&
              offsetof(schema::extract::ExtendedPayload, data) ==
                  offsetof(nvtxPayloadData_t, payload));

// Layouts nested in layouts; a forged one might contain itself.
constexpr int most_depth = 8;

struct Free {
  void operator()(const void* memory) const { std::free(const_cast<void*>(memory)); }
};
template <class T>
using Owned = std::unique_ptr<const T, Free>;

std::string text(const char* name) { return name ? name : ""; }

std::size_t count_of(std::size_t entries) {
  return std::min<std::size_t>(entries, wire::max_payload_entries);
}

}  // namespace

PayloadSchemas::PayloadSchemas(const cupti::Api& cupti, Tell tell)
    : tell_(std::move(tell)),
      attributes_(
          reinterpret_cast<Attributes*>(cupti.symbol("cuptiActivityGetNvtxExtPayloadAttr"))) {}

void PayloadSchemas::look_up(std::uint32_t domain, std::uint64_t id, int depth) {
  // Smaller ids are NVTX's own types.
  if (id < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START || depth > most_depth || !attributes_) return;
  if (!known_.emplace(domain, id).second) return;
  CUpti_NvtxExtPayloadAttr found{};
  found.structSize = sizeof found;
  if (attributes_(domain, id, &found) != CUPTI_SUCCESS || !found.attributes) return;

  wire::PayloadSchema schema;
  schema.domain = domain;
  schema.id = id;
  // CUPTI returns a copy that is ours to free.
  if (found.type == CUPTI_NVTX_EXT_PAYLOAD_TYPE_ENUM) {
    const Owned<nvtxPayloadEnumAttr_t> attributes(
        static_cast<const nvtxPayloadEnumAttr_t*>(found.attributes));
    const Owned<nvtxPayloadEnum_t> entries(attributes->entries);
    schema.is_enum = true;
    schema.size = attributes->sizeOfEnum;
    schema.name = text(attributes->name);
    for (std::size_t i = 0; entries && i < count_of(attributes->numEntries); ++i) {
      const nvtxPayloadEnum_t& entry = entries.get()[i];
      schema.entries.push_back({text(entry.name), entry.value, 0, 0, 0});
    }
  } else if (found.type == CUPTI_NVTX_EXT_PAYLOAD_TYPE_SCHEMA) {
    const Owned<nvtxPayloadSchemaAttr_t> attributes(
        static_cast<const nvtxPayloadSchemaAttr_t*>(found.attributes));
    const Owned<nvtxPayloadSchemaEntry_t> entries(attributes->entries);
    schema.size = attributes->payloadStaticSize;
    schema.name = text(attributes->name);
    for (std::size_t i = 0; entries && i < count_of(attributes->numEntries); ++i) {
      const nvtxPayloadSchemaEntry_t& entry = entries.get()[i];
      schema.entries.push_back(
          {text(entry.name), entry.type, entry.flags, entry.arrayOrUnionDetail, entry.offset});
      look_up(domain, entry.type, depth + 1);
    }
  } else {
    return;
  }
  tell_(schema);
}

}  // namespace gpuprof::collect
