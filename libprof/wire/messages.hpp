// The payloads that are more than fields: table definitions, batches, clocks, statistics. Each has
// one encode and one decode, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/format.hpp"
#include "libprof/wire/frame.hpp"
#include "schema/column.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::wire {

// A column as a stream defines it. The texts are copies: they outlive the frame.
struct WireColumn {
  std::string name;
  schema::Type type{};
  schema::Role role{};
  std::uint16_t width{};
  bool present = true;  // false: the target's CUPTI lacks it; its bytes are meaningless
  std::string doc;
};

struct WireTable {
  std::uint32_t id{};  // within this stream; never string_block or bytes_block
  std::string name;
  std::string doc;
  std::vector<WireColumn> columns;

  std::size_t row_width() const {
    std::size_t width = 0;
    for (const auto& column : columns) width += column.width;
    return width;
  }
};

void encode(Encoder& encoder, const WireTable& table);
std::optional<WireTable> decode_table(std::span<const std::byte> payload);

// Rows of one table within a batch. Views into the frame.
struct Block {
  std::uint32_t table{};
  std::uint32_t rows{};
  std::span<const std::byte> bytes;
};

struct Batch {
  BatchHeader header{};
  std::vector<Block> blocks;
};

std::optional<Batch> decode_batch(std::span<const std::byte> payload);
// The same batch with its rows discarded (batch_discarded). nullopt: it is not a sound batch.
std::optional<Frame> without_rows(const Frame& frame);

// The payload of a rows frame.
struct OwnRows {
  struct Definition {
    WireTable table;
    std::string_view text;  // as sent; a view into the frame
  };
  std::vector<Definition> tables;
  Batch batch;
};
std::optional<OwnRows> decode_own_rows(std::span<const std::byte> payload);

struct WireString {
  std::uint32_t id{};
  std::string_view text;
};
std::optional<std::vector<WireString>> decode_strings(const Block& block);

// The source of a stream. A target is a process of the profiled run. A sampler is a program of ours
// that runs alongside: it does not count as a process, and what it reports concerns the run as a
// whole.
enum class Role { target, sampler };

inline constexpr std::string_view role_field = "role";
inline constexpr std::string_view sampler_role = "sampler";

struct Hello {
  std::uint32_t version{};
  Fields fields;
  bool whole{};  // a newer version's may be incomplete

  Role role() const {
    return fields.text(role_field) == sampler_role ? Role::sampler : Role::target;
  }
  std::int64_t process_id() const { return fields.integer("process_id"); }
};

Hello decode_hello(std::span<const std::byte> payload);

// Clocks in ns, read as close together as possible. 0: unknown, as from older collectors.
struct Clock {
  enum class Moment : std::uint32_t { first = 0, last = 1, meanwhile = 2 };
  Moment moment{};
  std::int64_t realtime{};
  std::int64_t monotonic{};
  std::int64_t cupti{};
  std::int64_t monotonic_raw{};
  std::int64_t ticks{};  // of the processor
  // How far realtime may be off. 0: nothing keeps it synchronized.
  std::int64_t realtime_error{};
};

void encode(Encoder& encoder, const Clock& clock);
std::optional<Clock> decode_clock(std::span<const std::byte> payload);

// Counters of one process so far; the value in a later frame replaces an earlier one.
struct Statistic {
  std::string kind;  // table name, or empty
  std::string name;  // one from schema/statistics.hpp, or from a newer collector
  std::uint64_t value{};

  Statistic() = default;
  Statistic(std::string of_kind, schema::StatisticName counted, std::uint64_t count)
      : kind(std::move(of_kind)), name(counted.name()), value(count) {}
};

void encode(Encoder& encoder, std::span<const Statistic> statistics);
std::optional<std::vector<Statistic>> decode_statistics(std::span<const std::byte> payload);

struct ApiName {
  std::string domain;  // runtime or driver
  std::uint32_t cbid{};
  std::string name;
};

void encode(Encoder& encoder, std::span<const ApiName> names);
std::optional<std::vector<ApiName>> decode_api_names(std::span<const std::byte> payload);

// The layout of NVTX payloads of one schema, or the names of an enum's values. The numbers are
// NVTX's (nvToolsExtPayload.h).
struct PayloadEntry {
  std::string name;
  std::uint64_t type{};   // NVTX_PAYLOAD_ENTRY_TYPE_*, or another schema or enum; in an enum: value
  std::uint64_t flags{};  // NVTX_PAYLOAD_ENTRY_FLAG_*
  std::uint64_t length{};  // of an array, or of text of fixed length
  std::uint64_t offset{};  // bytes
};

struct PayloadSchema {
  std::uint32_t domain{};  // as MARKER_DATA.cuptiDomainId
  std::uint64_t id{};
  bool is_enum = false;
  std::uint64_t size{};  // bytes; 0 = unknown
  std::string name;
  std::vector<PayloadEntry> entries;
};

void encode(Encoder& encoder, const PayloadSchema& schema);
std::optional<PayloadSchema> decode_payload_schema(std::span<const std::byte> payload);

}  // namespace gpuprof::wire
