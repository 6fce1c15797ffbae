#include "libprof/wire/messages.hpp"

#include <algorithm>
#include <set>
#include <type_traits>

#include "libprof/base/text.hpp"
#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {
namespace {

// Names become SQL, which ignores case.
bool is_name(std::string_view name) {
  const auto word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= max_name && !(name[0] >= '0' && name[0] <= '9') &&
         std::ranges::all_of(name, word);
}

bool known(schema::Type type) { return type >= schema::Type::i8 && type <= schema::Type::text; }

}  // namespace

template <class Coder>
static void describe(Coder& coder, Coded<Coder, WireTable>& table) {
  coder.all(table.id, table.name, table.doc);
  coder.list(table.columns, max_columns, [&](auto& column) {
    coder.all(column.name, column.type, column.role, column.width, column.present, column.doc);
  });
}

void encode(Encoder& encoder, const WireTable& table) { describe(encoder, table); }

std::optional<WireTable> decode_table(std::span<const std::byte> payload) {
  auto table = decoded<WireTable>(payload);
  if (!table) return std::nullopt;
  std::set<std::string> names;
  for (const WireColumn& column : table->columns) {
    const bool width_fits = column.type == schema::Type::blob
                                ? column.width > 0
                                : column.width == schema::width_of(column.type);
    const bool numbers = lower(column.name) == schema::row_id;
    const bool number_fits = numbers == (column.role == schema::Role::number) &&
                             (!numbers || column.type == schema::Type::u64);
    if (!known(column.type) || !width_fits || !number_fits || !is_name(column.name) ||
        !names.insert(lower(column.name)).second) {
      return std::nullopt;
    }
  }
  if (table->id == string_block || table->id == bytes_block || !is_name(table->name) ||
      lower(table->name).starts_with("sqlite_") || table->columns.empty()) {
    return std::nullopt;
  }
  return table;
}

std::optional<Batch> decode_batch(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  Batch batch;
  batch.header = decoder.integer<BatchHeader>();
  if (batch.header.blocks > max_blocks) return std::nullopt;
  for (std::uint32_t i = 0; i < batch.header.blocks; ++i) {
    const auto header = decoder.integer<BlockHeader>();
    const auto bytes = decoder.raw(header.bytes);
    if (!decoder.ok()) return std::nullopt;
    batch.blocks.push_back({header.table, header.rows, bytes});
  }
  if (!decoder.ok()) return std::nullopt;
  return batch;
}

std::optional<OwnRows> decode_own_rows(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  OwnRows rows;
  const auto count = decoder.list_length(sizeof(std::uint32_t), max_blocks);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    const std::string_view text = decoder.text();
    auto table = decode_table(std::as_bytes(std::span(text)));
    if (!table) return std::nullopt;
    rows.tables.push_back({std::move(*table), text});
  }
  auto batch = decode_batch(decoder.raw(decoder.remaining()));
  if (!decoder.ok() || !batch) return std::nullopt;
  rows.batch = std::move(*batch);
  return rows;
}

std::optional<Frame> without_rows(const Frame& frame) {
  auto batch = decode_batch(frame.payload());
  if (!batch) return std::nullopt;
  // Byte strings are only for the rows in the same batch.
  std::erase_if(batch->blocks, [](const Block& block) { return block.table == bytes_block; });
  batch->header.blocks = static_cast<std::uint32_t>(batch->blocks.size());
  batch->header.flags |= batch_discarded;
  Encoder encoder;
  encoder.integer(batch->header);
  for (Block& block : batch->blocks) {
    if (block.table != string_block) block.bytes = {};
    encoder.integer(BlockHeader{block.table, block.rows, block.bytes.size()});
    encoder.raw(block.bytes);
  }
  return make_frame(frame.type, frame.stream, encoder.bytes());
}

std::optional<std::vector<WireString>> decode_strings(const Block& block) {
  Decoder decoder(block.bytes);
  std::vector<WireString> strings;
  if (block.rows > max_strings) return std::nullopt;
  for (std::uint32_t i = 0; i < block.rows && decoder.ok(); ++i) {
    WireString string;
    string.id = decoder.integer<std::uint32_t>();
    string.text = decoder.text();
    if (!is_string_id(string.id)) return std::nullopt;
    if (decoder.ok()) strings.push_back(string);
  }
  if (!decoder.ok()) return std::nullopt;
  return strings;
}

Hello decode_hello(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  Hello hello;
  hello.version = decoder.integer<std::uint32_t>();
  hello.fields = decoder.fields();
  hello.whole = decoder.ok();
  return hello;
}

template <class Coder>
static void describe(Coder& coder, Coded<Coder, Clock>& clock) {
  coder.all(clock.moment, clock.realtime, clock.monotonic, clock.cupti);
  if constexpr (std::is_same_v<Coder, Decoder>) {
    if (coder.remaining() == 0) return;  // an older collector's
  }
  coder.all(clock.monotonic_raw, clock.ticks, clock.realtime_error);
}

template <class Coder, class List>
requires std::is_same_v<typename List::value_type, Statistic>
static void describe(Coder& coder, List& statistics) {
  coder.list(statistics, max_statistics,
             [&](auto& statistic) { coder.all(statistic.kind, statistic.name, statistic.value); });
}

template <class Coder, class List>
requires std::is_same_v<typename List::value_type, ApiName>
static void describe(Coder& coder, List& names) {
  coder.list(names, max_api_names,
             [&](auto& name) { coder.all(name.domain, name.cbid, name.name); });
}

template <class Coder>
static void describe(Coder& coder, Coded<Coder, PayloadSchema>& schema) {
  coder.all(schema.domain, schema.id);
  coder.template as<std::uint32_t>(schema.is_enum);
  coder.all(schema.size, schema.name);
  coder.list(schema.entries, max_payload_entries, [&](auto& entry) {
    coder.all(entry.name, entry.type, entry.flags, entry.length, entry.offset);
  });
}

void encode(Encoder& encoder, const Clock& clock) { describe(encoder, clock); }

std::optional<Clock> decode_clock(std::span<const std::byte> payload) {
  const auto clock = decoded<Clock>(payload);
  return clock && clock->moment <= Clock::Moment::meanwhile ? clock : std::nullopt;
}

void encode(Encoder& encoder, std::span<const Statistic> statistics) {
  describe(encoder, statistics);
}

std::optional<std::vector<Statistic>> decode_statistics(std::span<const std::byte> payload) {
  return decoded<std::vector<Statistic>>(payload);
}

void encode(Encoder& encoder, std::span<const ApiName> names) { describe(encoder, names); }

std::optional<std::vector<ApiName>> decode_api_names(std::span<const std::byte> payload) {
  return decoded<std::vector<ApiName>>(payload);
}

void encode(Encoder& encoder, const PayloadSchema& schema) { describe(encoder, schema); }

std::optional<PayloadSchema> decode_payload_schema(std::span<const std::byte> payload) {
  return decoded<PayloadSchema>(payload);
}

}  // namespace gpuprof::wire
