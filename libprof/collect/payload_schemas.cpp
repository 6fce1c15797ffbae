#include "libprof/collect/payload_schemas.hpp"

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>

#include "schema/activity/markers.hpp"

namespace gpuprof::collect {
namespace {

static_assert(sizeof(schema::extract::ExtendedPayload) == sizeof(nvtxPayloadData_t) &&
              offsetof(schema::extract::ExtendedPayload, size) ==
                  offsetof(nvtxPayloadData_t, size) &&
              offsetof(schema::extract::ExtendedPayload, data) ==
                  offsetof(nvtxPayloadData_t, payload));

// Layouts nested in layouts; a wrong one might contain itself.
constexpr int most_depth = 8;

}  // namespace

void PayloadSchemas::look_up(std::uint32_t domain, std::uint64_t id, int depth) {
  // Smaller ids are NVTX's own types.
  if (id < NVTX_PAYLOAD_SCHEMA_ID_STATIC_START || depth > most_depth) return;
  if (known_.contains({domain, id})) return;
  const auto schema = objects_.schema(domain, id);
  if (!schema) return;
  known_.emplace(domain, id);
  if (!schema->is_enum) {
    for (const wire::PayloadEntry& entry : schema->entries) look_up(domain, entry.type, depth + 1);
  }
  tell_(*schema);
}

}  // namespace gpuprof::collect
