// Tables computed from NVTX records, and what that requires. Their names avoid "timestamp", and
// "start" together with "end", because the Visual Profiler assumes such columns in a table whose
// text contains these words.
#pragma once

#include <array>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

namespace tables {

inline constexpr Column nvtx_range_columns[]{
    stored("processId", Type::i64, "process it was made in"),
    stored("threadId", Type::i64, "thread that opened it; 0 = not known"),
    stored("id", Type::i64, "MARKER.id of both its ends, in the same process"),
    stored("domain", Type::string, "NVTX domain: StringTable id; 0 = the default domain"),
    stored("name", Type::string, "message: StringTable id; 0 = none"),
    stored("start", Type::i64, "[ns] when it was opened, on CUPTI's clock"),
    stored("stop", Type::i64, "[ns] when it was closed, on CUPTI's clock; NULL = never"),
    stored("depth", Type::i64,
           "push/pop ranges of its thread and domain around it; NULL for start_end"),
    stored("parent", Type::i64, "_id_ of the innermost of those; NULL = none"),
    stored(
        "kind", Type::text,
        "'push_pop' or 'start_end'; guessed from how it nests in gpuprof 0.1's files and nvprof's"),
    stored("payloadInt", Type::i64, "payload that is a whole number, else NULL"),
    stored("payloadDouble", Type::f64, "payload that is a floating-point number, else NULL"),
    stored("color", Type::i64, "0xAARRGGBB; NULL = none"),
    stored("category", Type::i64, "category number; NULL or 0 = none"),
};
inline constexpr Table nvtx_range{
    .name = "NVTX_RANGE",
    .doc = "NVTX ranges with both ends in one row, computed from MARKER and MARKER_DATA.",
    .columns = nvtx_range_columns,
    .origin = Origin::computed,
    .row_doc = "the range"};

inline constexpr Column nvtx_payload_columns[]{
    stored("processId", Type::i64, "process it was made in"),
    stored("id", Type::i64, "the mark or range: MARKER.id of the same process"),
    stored("schema", Type::text, "name of the layout; '' = none"),
    stored("field", Type::text,
           "name of the field; a.b = b inside a, a[2] = an element; '' = no layout"),
    stored("intValue", Type::i64, "a whole number, or that of an enum's name; else NULL"),
    stored("realValue", Type::f64, "a floating-point number; else NULL"),
    stored("textValue", Type::text,
           "a text, or the name that an enum has for the number; else NULL"),
};
inline constexpr Table nvtx_payload{
    .name = "NVTX_PAYLOAD",
    .doc =
        "Fields of NVTX payloads that have a layout (NCCL's have one), computed from MARKER_DATA "
        "and NVTX_PAYLOAD_ENTRY. The view nvtx_payloads has them with their ranges.",
    .columns = nvtx_payload_columns,
    .origin = Origin::computed};

inline constexpr Column nvtx_payload_entry_columns[]{
    stored("processId", Type::i64, "process that registered it"),
    stored("domainId", Type::i64, "number of the domain: MARKER_DATA.cuptiDomainId"),
    stored("schemaId", Type::i64,
           "the layout or enum: MARKER_DATA.payloadSchema, or type of an entry"),
    stored("isEnum", Type::i64, "1 = a value of an enum, 0 = a field of a layout"),
    stored("schema", Type::text, "name of the layout or enum"),
    stored("size", Type::i64, "[bytes] size of the layout or enum; 0 = not known"),
    stored("place", Type::i64, "counts its entries from 0"),
    stored("field", Type::text, "name of the field or value"),
    stored("type", Type::i64,
           "NVTX_PAYLOAD_ENTRY_TYPE_* of nvToolsExtPayload.h, or another schemaId; of an enum the "
           "value"),
    stored("flags", Type::i64, "NVTX_PAYLOAD_ENTRY_FLAG_*, bits"),
    stored("length", Type::i64, "elements of an array, bytes of a text; 0 = one element"),
    stored("offset", Type::i64, "[bytes] distance from the beginning of the payload"),
};
inline constexpr Table nvtx_payload_entry{
    .name = "NVTX_PAYLOAD_ENTRY",
    .doc = "Layouts of NVTX payloads, and enums in them, as the program registered them.",
    .columns = nvtx_payload_entry_columns,
    .origin = Origin::run,
    .key = "processId, domainId, schemaId, place",
    .without_rowid = true};

}  // namespace tables

// Created when NVTX ranges are paired.
inline constexpr std::string_view range_index =
    "CREATE INDEX IF NOT EXISTS INDEX_CUPTI_ACTIVITY_KIND_MARKER_DATA ON "
    "CUPTI_ACTIVITY_KIND_MARKER_DATA(id)";

}  // namespace gpuprof::schema
