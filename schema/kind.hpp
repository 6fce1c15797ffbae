// The macros that define an activity kind: KIND, COL, STR, BLOB, …
//
// A kind is one block in schema/activity/. Its table, its columns' docs, how a record is packed,
// how CUPTI is made to collect it, and its round-trip test are all derived from it.
//
// The blocks compile with and without CUPTI's headers. With them (GPUPROF_HAVE_CUPTI) each column
// also knows its offset in CUPTI's record, and its spelled type is checked against the member's
// size. Without them the launcher, the loader and the reports still know every table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <tuple>

#include "schema/column.hpp"

#ifdef GPUPROF_HAVE_CUPTI
#define CUPTI_DIRECTIVE_SUPPORT 1
#include <cupti.h>
#endif

// The two build variants must not share names, because a test may link both.
#ifdef GPUPROF_HAVE_CUPTI
#define GPUPROF_SCHEMA_VARIANT with_cupti
#else
#define GPUPROF_SCHEMA_VARIANT without_cupti
#endif

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

// The groups of `--trace`. A kind belongs to one group.
enum class Group : std::uint8_t {
  topology,  // always on: without it no row can be attributed to a device
  gpu,
  api,
  queries,  // no separate kinds: additional calls for api (schema/query_calls.hpp)
  nvtx,
  sync,
  overhead,
  memory,
  allocation_source,  // no separate kinds: a column of memory's
  memory_lifetime,
  unified_memory,
  jit,
  cuda_event,
  external,
  graph,
  host,
  context_switch,
  environment,
  module,
  openacc,
  openmp,
  serial,  // not a choice of --trace: --concurrent-kernels off replaces gpu's kernels with it
};

struct GroupInfo {
  Group group;
  std::string_view name;  // in --trace; empty: not for --trace
  bool by_default;
  std::string_view doc;
};

inline constexpr std::array groups{
    GroupInfo{Group::topology, "", true, "devices, contexts, streams, NVLink and PCIe links"},
    GroupInfo{Group::gpu, "gpu", true, "kernels, memory copies and sets"},
    GroupInfo{Group::api, "api", true, "CUDA runtime and driver calls"},
    GroupInfo{Group::queries, "queries", false,
              "calls that only query, such as cudaGetDevice; requires api"},
    GroupInfo{Group::nvtx, "nvtx", true, "NVTX ranges, marks and names"},
    GroupInfo{Group::sync, "sync", true, "waits for events, streams and contexts"},
    GroupInfo{Group::overhead, "overhead", true, "time CUPTI and the driver say they took"},
    GroupInfo{Group::memory, "memory", true, "allocations, frees and memory pools"},
    GroupInfo{Group::allocation_source, "allocation-source", false,
              "the library that made each allocation, and the place in it; requires memory"},
    GroupInfo{Group::memory_lifetime, "memory-lifetime", false,
              "allocations with their release in one row, known only after the release"},
    GroupInfo{Group::unified_memory, "unified-memory", true,
              "page migrations and faults of managed memory"},
    GroupInfo{Group::jit, "jit", true, "run-time compilation and its cache"},
    GroupInfo{Group::cuda_event, "cuda-event", false, "CUDA event records"},
    GroupInfo{Group::external, "external", false, "correlation ids pushed by frameworks"},
    GroupInfo{Group::graph, "graph", false, "one row per CUDA graph launch instead of its nodes"},
    GroupInfo{Group::host, "host", false, "host functions run by streams and graphs (CUPTI 13.1)"},
    GroupInfo{Group::context_switch, "context-switch", false,
              "switches of the compute engine between contexts (CUPTI 13.1)"},
    GroupInfo{Group::environment, "environment", false, "clocks, temperature, power, fan"},
    GroupInfo{Group::module, "module", false,
              "loaded modules with their cubin, and their functions"},
    GroupInfo{Group::openacc, "openacc", false, "OpenACC constructs"},
    GroupInfo{Group::openmp, "openmp", false, "OpenMP constructs (OMPT runtime)"},
    GroupInfo{Group::serial, "", false, "kernels, one at a time"},
};

// How records of a kind are obtained.
enum class Source : std::uint8_t {
  enable,           // cuptiActivityEnable
  enable_and_dump,  // cuptiActivityEnableAndDump, or else earlier objects would be missing
  with_other,       // comes with another kind and cannot be enabled itself
  ourselves,        // the collector makes the records
};

struct KindInfo {
  int id;  // CUpti_ActivityKind
  std::string_view table;
  Group group;
  Source source;
  std::string_view doc;
};

// Reads one column from a CUPTI record where a plain copy is not enough. `version` is the running
// CUPTI's. Writes the column's width to `out`. Must not allocate or throw.
using Extract = void (*)(const void* record, std::uint32_t version, std::byte* out);

// Finds bytes that a record refers to.
using FindBytes = std::span<const std::byte> (*)(const void* record, std::uint32_t version);

#ifdef GPUPROF_HAVE_CUPTI
namespace extract {
// For extract functions: writes a value as it is in a packed row.
template <class T>
inline void put(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}
// The number in a record's enum member. A newer CUPTI writes numbers that its header does not name,
// and a torn record contains anything: as a value of the enum that would be undefined behavior.
template <class Enum>
inline std::uint32_t number_of(const Enum& member) {
  static_assert(sizeof member == sizeof(std::uint32_t));
  std::uint32_t number;
  std::memcpy(&number, &member, sizeof number);
  return number;
}
// The values that Role::nullable treats as NULL.
inline constexpr std::uint32_t null_u32 = 0xffffffff;
inline constexpr std::uint64_t null_u64 = 0xffffffffffffffff;
inline constexpr std::int64_t null_i64 = INT64_MIN;
}  // namespace extract
#endif

struct Field {
  Column column;
  std::uint32_t since = 0;        // first CUPTI API version with the member; 0: all supported ones
  std::uint16_t offset = 0;       // in CUPTI's record
  std::uint16_t size_offset = 0;  // Type::bytes only: offset of their number, u32
  // Whether `extract` reads memory that the record points to. For the record of a dead target that
  // memory is gone: `extract` is not called, and the value is all bits set (NULL if the column is
  // nullable).
  bool follows_pointer = false;
  Extract extract = nullptr;
  // Type::bytes only: finds them, if the record itself has no pointer to them.
  FindBytes find = nullptr;
};

#ifdef GPUPROF_HAVE_CUPTI
// Frees what a record owns and CUPTI leaves to its reader. Specialized for kinds whose records own
// something. Only for records of this process.
template <class Kind>
inline void release(const typename Kind::Record&) {}
#endif

// Properties of a kind beyond its table. A kind that has any has a line TRAITS(Struct, …) before
// its block.
template <class Kind>
inline constexpr Traits traits_of{};

template <std::size_t N>
constexpr std::array<Column, N> columns_of(const std::array<Field, N>& fields) {
  std::array<Column, N> columns{};
  for (std::size_t i = 0; i < N; ++i) columns[i] = fields[i].column;
  return columns;
}

constexpr Field since(std::uint32_t version, Field field) {
  field.since = version;
  return field;
}

constexpr Field role(Role role, Field field) {
  field.column.role = role;
  return field;
}

constexpr Field follows_pointer(Field field) {
  field.follows_pointer = true;
  return field;
}

constexpr Field make_field(std::string_view name, Type type, std::uint16_t width, Doc doc) {
  return Field{.column = {.name = name,
                          .type = type,
                          .width = width,
                          .role = {},
                          .doc = doc.text,
                          .unit = doc.unit}};
}

template <std::size_t Width, std::size_t MemberSize>
constexpr Field field_at(std::string_view name, Type type, std::size_t offset, Doc doc) {
  static_assert(Width == MemberSize, "the column's type does not fit the member of CUPTI's record");
  Field field = make_field(name, type, Width, doc);
  field.offset = static_cast<std::uint16_t>(offset);
  return field;
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT

// TRAITS(Struct, .gpu_work = …, .nvprofs = true): members of schema::Traits.
#define TRAITS(Struct, ...) \
  struct Struct;            \
  template <>               \
  inline constexpr Traits traits_of<Struct>{__VA_ARGS__};

// KIND(Struct, id, NAME, CUPTI record, Group, Source, doc, fields…)
//
// Struct is the C++ name, NAME the part of CUPTI_ACTIVITY_KIND_NAME that names table and kind. A
// column's doc begins with its unit in brackets: "[ns] start on the GPU" (units in
// schema/column.hpp).
#ifdef GPUPROF_HAVE_CUPTI
#define GPUPROF_RECORD_OF(NAME, id_, CuptiRecord) \
  using Record = CuptiRecord;                     \
  static_assert(CUPTI_ACTIVITY_KIND_##NAME == id_, "not the number CUPTI gives this kind");
#else
#define GPUPROF_RECORD_OF(NAME, id_, CuptiRecord)
#endif

#define KIND(Struct, id_, NAME, CuptiRecord, group_, source_, doc_, ...)             \
  struct Struct {                                                                    \
    GPUPROF_RECORD_OF(NAME, id_, CuptiRecord)                                        \
    static constexpr KindInfo info{id_, "CUPTI_ACTIVITY_KIND_" #NAME, Group::group_, \
                                   Source::source_, doc_};                           \
    static constexpr std::array fields{__VA_ARGS__};                                 \
    static constexpr std::array columns{columns_of(fields)};                         \
    static constexpr Table table{.name = info.table,                                 \
                                 .doc = info.doc,                                    \
                                 .columns = columns,                                 \
                                 .kind = id_,                                        \
                                 .row_doc = row_id_doc,                              \
                                 .with_process = true,                               \
                                 .traits = traits_of<Struct>};                       \
  };

// COL(type, member, doc): a member copied as it is. COL_AS gives it another column name, for a
// member inside a union, or one whose own name would confuse old tools.
// STR: a C string, interned. BLOB(width, member, doc): raw bytes.
// BYTES(member, size_member, doc): bytes behind a pointer, as many as the u32 `size_member`.
// BYTES_AT(name, function, doc): what `function(record, version)` finds, in a live process.
// CUSTOM(type, width, name, function, doc): whatever `function(record, version, out)` writes.
// CORRELATION(member, doc): a correlation id. since(VERSION, COL(…)): a member added later.
//
// A kind has its own process column only where nvprof has one: the loader adds processId to every
// other table, and knows it for every row.
#ifdef GPUPROF_HAVE_CUPTI
#define GPUPROF_MEMBER_SIZE(member) sizeof(static_cast<Record*>(nullptr)->member)
#define COL_AS(type_, name_, member, doc_)                                         \
  field_at<width_of(Type::type_), GPUPROF_MEMBER_SIZE(member)>(name_, Type::type_, \
                                                               offsetof(Record, member), doc_)
#define STR(member, doc_)                                                          \
  [] {                                                                             \
    Field field = make_field(#member, Type::string, width_of(Type::string), doc_); \
    static_assert(GPUPROF_MEMBER_SIZE(member) == sizeof(const char*));             \
    field.offset = offsetof(Record, member);                                       \
    return field;                                                                  \
  }()
#define BLOB(width_, member, doc_) \
  field_at<width_, GPUPROF_MEMBER_SIZE(member)>(#member, Type::blob, offsetof(Record, member), doc_)
#define BYTES(member, size_member, doc_)                                         \
  [] {                                                                           \
    Field field = make_field(#member, Type::bytes, width_of(Type::bytes), doc_); \
    static_assert(GPUPROF_MEMBER_SIZE(member) == sizeof(const void*));           \
    static_assert(GPUPROF_MEMBER_SIZE(size_member) == sizeof(std::uint32_t));    \
    field.offset = offsetof(Record, member);                                     \
    field.size_offset = offsetof(Record, size_member);                           \
    return field;                                                                \
  }()
#define BYTES_AT(name_, function, doc_)                                        \
  [] {                                                                         \
    Field field = make_field(name_, Type::bytes, width_of(Type::bytes), doc_); \
    field.find = [](const void* record, std::uint32_t version) {               \
      return function(*static_cast<const Record*>(record), version);           \
    };                                                                         \
    return field;                                                              \
  }()
#define CUSTOM(type_, width_, name_, function, doc_)                                \
  [] {                                                                              \
    Field field = make_field(name_, Type::type_, width_, doc_);                     \
    field.extract = [](const void* record, std::uint32_t version, std::byte* out) { \
      function(*static_cast<const Record*>(record), version, out);                  \
    };                                                                              \
    return field;                                                                   \
  }()
#else
#define COL_AS(type_, name_, member, doc_) \
  make_field(name_, Type::type_, width_of(Type::type_), doc_)
#define STR(member, doc_) make_field(#member, Type::string, width_of(Type::string), doc_)
#define BLOB(width_, member, doc_) make_field(#member, Type::blob, width_, doc_)
#define BYTES_AT(name_, function, doc_) make_field(name_, Type::bytes, width_of(Type::bytes), doc_)
#define BYTES(member, size_member, doc_) \
  make_field(#member, Type::bytes, width_of(Type::bytes), doc_)
#define CUSTOM(type_, width_, name_, function, doc_) make_field(name_, Type::type_, width_, doc_)
#endif
#define COL(type_, member, doc_) COL_AS(type_, #member, member, doc_)
#define CORRELATION(member, doc_) role(Role::correlation, COL(u32, member, doc_))
// The same for a column that may be NULL; Role::nullable defines the value that means NULL.
#define NULLABLE(type_, name_, function, doc_) \
  role(Role::nullable, CUSTOM(type_, width_of(Type::type_), name_, function, doc_))
