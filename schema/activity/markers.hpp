// NVTX: what the application says about itself.
#pragma once

#include <limits>

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#ifdef GPUPROF_HAVE_CUPTI
namespace extract {

inline void object_thread(const auto& record, std::uint32_t, std::byte* out) {
  const bool thread = number_of(record.objectKind) == CUPTI_ACTIVITY_OBJECT_THREAD;
  put(out, thread ? record.objectId.pt.threadId : 0u);
}

// A range of start and end is an object of the process, with the thread that made the call.
inline void marker_thread(const CUpti_ActivityMarker2& record, std::uint32_t version,
                          std::byte* out) {
  if (number_of(record.objectKind) != CUPTI_ACTIVITY_OBJECT_PROCESS) {
    return object_thread(record, version, out);
  }
  put(out, record.objectId.pt.threadId);
}

// A stream is named with its context and device, a context with its device.
inline void object_device(const auto& record, std::uint32_t, std::byte* out) {
  const auto kind = number_of(record.objectKind);
  const bool device = kind == CUPTI_ACTIVITY_OBJECT_DEVICE ||
                      kind == CUPTI_ACTIVITY_OBJECT_CONTEXT || kind == CUPTI_ACTIVITY_OBJECT_STREAM;
  put(out, device ? record.objectId.dcs.deviceId : null_u32);
}

inline void object_context(const auto& record, std::uint32_t, std::byte* out) {
  const auto kind = number_of(record.objectKind);
  const bool context =
      kind == CUPTI_ACTIVITY_OBJECT_CONTEXT || kind == CUPTI_ACTIVITY_OBJECT_STREAM;
  put(out, context ? record.objectId.dcs.contextId : null_u32);
}

inline void object_stream(const auto& record, std::uint32_t, std::byte* out) {
  const bool stream = number_of(record.objectKind) == CUPTI_ACTIVITY_OBJECT_STREAM;
  put(out, stream ? record.objectId.dcs.streamId : null_u32);
}

inline void payload_int(const CUpti_ActivityMarkerData2& record, std::uint32_t, std::byte* out) {
  switch (number_of(record.payloadKind)) {
    case CUPTI_METRIC_VALUE_KIND_UINT64:
      // 0 also if there is no payload.
      put(out, record.payload.metricValueUint64 == 0
                   ? null_i64
                   : static_cast<std::int64_t>(record.payload.metricValueUint64));
      break;
    case CUPTI_METRIC_VALUE_KIND_THROUGHPUT:
    case CUPTI_METRIC_VALUE_KIND_INT64: put(out, record.payload.metricValueInt64); break;
    default: put(out, null_i64);
  }
}

inline void payload_double(const CUpti_ActivityMarkerData2& record, std::uint32_t, std::byte* out) {
  switch (number_of(record.payloadKind)) {
    case CUPTI_METRIC_VALUE_KIND_DOUBLE:
    case CUPTI_METRIC_VALUE_KIND_PERCENT: put(out, record.payload.metricValueDouble); break;
    default: put(out, std::numeric_limits<double>::quiet_NaN());
  }
}

// What a payload of kind CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD points to: NVTX's
// nvtxPayloadData_t.
struct ExtendedPayload {
  std::uint64_t schema;
  std::uint64_t size;
  void* data;
};

inline const ExtendedPayload* extended_payload(const CUpti_ActivityMarkerData2& record) {
  if (number_of(record.payloadKind) != CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD) {
    return nullptr;
  }
  return reinterpret_cast<const ExtendedPayload*>(record.payload.metricValueNvtxExtendedPayload);
}

inline void payload_schema(const CUpti_ActivityMarkerData2& record, std::uint32_t,
                           std::byte* out) {
  const ExtendedPayload* payload = extended_payload(record);
  put(out, payload ? payload->schema : null_u64);
}

// Longer payloads are truncated: they are not meant for bulk data.
inline constexpr std::uint64_t most_payload_bytes = 32 << 10;

inline std::span<const std::byte> payload_data(const CUpti_ActivityMarkerData2& record,
                                               std::uint32_t) {
  const ExtendedPayload* payload = extended_payload(record);
  if (!payload || !payload->data) return {};
  const std::uint64_t size =
      payload->size < most_payload_bytes ? payload->size : most_payload_bytes;
  return {static_cast<const std::byte*>(payload->data), size};
}

}  // namespace extract
#endif

// The object of a record: nvprof's columns, and the ids inside them as separate columns.
#define GPUPROF_OBJECT                                                          \
  COL(u32, objectKind, "what objectId names: enum CUpti_ActivityObjectKind"),   \
      BLOB(12, objectId,                                                        \
           "process and thread, or device, context and stream, as three u32; "  \
           "read the columns threadId and objectXxxId instead")

#define GPUPROF_OBJECT_THREAD                              \
  CUSTOM(u32, 4, "threadId", extract::object_thread,       \
         "thread it is about; 0 = it is about no single thread")

#define GPUPROF_OBJECT_IDS                                                       \
  GPUPROF_OBJECT_THREAD,                                                         \
      NULLABLE(u32, "objectDeviceId", extract::object_device,                    \
               "device it is about, or that has the context or stream; NULL = none"), \
      NULLABLE(u32, "objectContextId", extract::object_context,                  \
               "context it is about, or that has the stream; NULL = none"),      \
      NULLABLE(u32, "objectStreamId", extract::object_stream,                    \
               "stream it is about; NULL = none")

KIND(Name, 11, NAME, CUpti_ActivityName, nvtx, ourselves,
     "Names the application gave to threads, devices, contexts and streams.",
     GPUPROF_OBJECT,
     STR(name, "the name: StringTable id"),
     GPUPROF_OBJECT_IDS)

TRAITS(Marker, .nvprofs = true)
KIND(Marker, 12, MARKER, CUpti_ActivityMarker2, nvtx, ourselves,
     "NVTX marks, and the two ends of NVTX ranges as a row each. NVTX_RANGE has the ranges paired.",
     COL(u32, flags, "mark, or which end of a range: enum CUpti_ActivityFlag_MARKER, bits"),
     COL(u64, timestamp, "[ns] when, on CUPTI's clock; 0 = not collected"),
     COL(u32, id, "the mark or range, one id for both ends of a range; counts per process"),
     GPUPROF_OBJECT,
     STR(name, "message: StringTable id; 0 on the closing end of a range"),
     STR(domain, "NVTX domain: StringTable id; 0 = the default domain"),
     CUSTOM(u32, 4, "threadId", extract::marker_thread, "thread that made the call; 0 = not known"))

KIND(MarkerData, 13, MARKER_DATA, CUpti_ActivityMarkerData2, nvtx, ourselves,
     "Colour, category and payload of a mark or range.",
     COL(u32, flags, "how color is meant: enum CUpti_ActivityFlag_MARKER_COLOR, bits"),
     COL(u32, id, "the mark or range: MARKER.id of the same process"),
     COL(u32, payloadKind, "type of payload: enum CUpti_MetricValueKind"),
     BLOB(8, payload, "the payload as it is; read payloadInt or payloadDouble instead"),
     COL(u32, color, "0xAARRGGBB when flags say so"),
     COL(u32, category, "category number; 0 = none"),
     NULLABLE(i64, "payloadInt", extract::payload_int,
              "payload that is a whole number, else NULL; NULL also for an unsigned 0"),
     NULLABLE(f64, "payloadDouble", extract::payload_double,
              "payload that is a floating-point number, else NULL"),
     COL(u32, cuptiDomainId, "number of the domain, 1 = the default domain; 0 = not known"),
     follows_pointer(NULLABLE(
         u64, "payloadSchema", extract::payload_schema,
         "layout of payloadData: NVTX_PAYLOAD_ENTRY.schemaId of the same process and domain, or a "
         "type of NVTX itself; NULL = the payload is a number")),
     BYTES_AT("payloadData", extract::payload_data,
              "a payload with a layout, as it is, up to 32 KiB; NULL = none. NVTX_PAYLOAD has its "
              "fields"))

using MarkerKinds = std::tuple<Name, Marker, MarkerData>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
