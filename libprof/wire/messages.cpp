#include "libprof/wire/messages.hpp"

#include <algorithm>
#include <set>

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

// Decodes a payload that is one list of at most `most` items of at least `item_size` bytes each,
// with read(decoder, item).
template <class Item, class Read>
std::optional<std::vector<Item>> decode_list(std::span<const std::byte> payload,
                                             std::size_t item_size, std::uint32_t most,
                                             Read&& read) {
  Decoder decoder(payload);
  std::vector<Item> items;
  const auto count = decoder.list_length(item_size, most);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) read(decoder, items.emplace_back());
  if (!decoder.ok()) return std::nullopt;
  return items;
}

}  // namespace

void encode(Encoder& encoder, const WireTable& table) {
  encoder.integer(table.id).text(table.name).text(table.doc);
  encoder.integer(static_cast<std::uint32_t>(table.columns.size()));
  for (const WireColumn& column : table.columns) {
    encoder.text(column.name)
        .integer(static_cast<std::uint8_t>(column.type))
        .integer(static_cast<std::uint8_t>(column.role))
        .integer(column.width)
        .integer(static_cast<std::uint8_t>(column.present))
        .text(column.doc);
  }
}

std::optional<WireTable> decode_table(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  WireTable table;
  table.id = decoder.integer<std::uint32_t>();
  table.name = decoder.text();
  table.doc = decoder.text();
  const auto count = decoder.list_length(13, max_columns);
  std::set<std::string> names;
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    WireColumn column;
    column.name = decoder.text();
    column.type = static_cast<schema::Type>(decoder.integer<std::uint8_t>());
    column.role = static_cast<schema::Role>(decoder.integer<std::uint8_t>());
    column.width = decoder.integer<std::uint16_t>();
    column.present = decoder.integer<std::uint8_t>() != 0;
    column.doc = decoder.text();
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
    table.columns.push_back(std::move(column));
  }
  if (!decoder.ok() || table.id == string_block || table.id == bytes_block ||
      !is_name(table.name) || lower(table.name).starts_with("sqlite_") || table.columns.empty()) {
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

void encode(Encoder& encoder, const Clock& clock) {
  encoder.integer(static_cast<std::uint32_t>(clock.moment))
      .integer(clock.realtime)
      .integer(clock.monotonic)
      .integer(clock.cupti)
      .integer(clock.monotonic_raw)
      .integer(clock.ticks)
      .integer(clock.realtime_error);
}

std::optional<Clock> decode_clock(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  Clock clock;
  clock.moment = static_cast<Clock::Moment>(decoder.integer<std::uint32_t>());
  if (clock.moment > Clock::Moment::meanwhile) return std::nullopt;
  clock.realtime = decoder.integer<std::int64_t>();
  clock.monotonic = decoder.integer<std::int64_t>();
  clock.cupti = decoder.integer<std::int64_t>();
  if (!decoder.ok()) return std::nullopt;
  if (decoder.remaining() == 0) return clock;
  clock.monotonic_raw = decoder.integer<std::int64_t>();
  clock.ticks = decoder.integer<std::int64_t>();
  clock.realtime_error = decoder.integer<std::int64_t>();
  if (!decoder.ok()) return std::nullopt;
  return clock;
}

void encode(Encoder& encoder, std::span<const Statistic> statistics) {
  encoder.integer(static_cast<std::uint32_t>(statistics.size()));
  for (const Statistic& statistic : statistics) {
    encoder.text(statistic.kind).text(statistic.name).integer(statistic.value);
  }
}

std::optional<std::vector<Statistic>> decode_statistics(std::span<const std::byte> payload) {
  return decode_list<Statistic>(payload, 16, max_statistics,
                                [](Decoder& decoder, Statistic& statistic) {
                                  statistic.kind = decoder.text();
                                  statistic.name = decoder.text();
                                  statistic.value = decoder.integer<std::uint64_t>();
                                });
}

void encode(Encoder& encoder, std::span<const ApiName> names) {
  encoder.integer(static_cast<std::uint32_t>(names.size()));
  for (const ApiName& name : names) {
    encoder.text(name.domain).integer(name.cbid).text(name.name);
  }
}

std::optional<std::vector<ApiName>> decode_api_names(std::span<const std::byte> payload) {
  return decode_list<ApiName>(payload, 12, max_api_names, [](Decoder& decoder, ApiName& name) {
    name.domain = decoder.text();
    name.cbid = decoder.integer<std::uint32_t>();
    name.name = decoder.text();
  });
}

void encode(Encoder& encoder, const PayloadSchema& schema) {
  encoder.integer(schema.domain)
      .integer(schema.id)
      .integer(std::uint32_t{schema.is_enum})
      .integer(schema.size)
      .text(schema.name)
      .integer(static_cast<std::uint32_t>(schema.entries.size()));
  for (const PayloadEntry& entry : schema.entries) {
    encoder.text(entry.name)
        .integer(entry.type)
        .integer(entry.flags)
        .integer(entry.length)
        .integer(entry.offset);
  }
}

std::optional<PayloadSchema> decode_payload_schema(std::span<const std::byte> payload) {
  Decoder decoder(payload);
  PayloadSchema schema;
  schema.domain = decoder.integer<std::uint32_t>();
  schema.id = decoder.integer<std::uint64_t>();
  schema.is_enum = decoder.integer<std::uint32_t>() != 0;
  schema.size = decoder.integer<std::uint64_t>();
  schema.name = decoder.text();
  const auto count = decoder.list_length(36, max_payload_entries);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    PayloadEntry entry;
    entry.name = decoder.text();
    entry.type = decoder.integer<std::uint64_t>();
    entry.flags = decoder.integer<std::uint64_t>();
    entry.length = decoder.integer<std::uint64_t>();
    entry.offset = decoder.integer<std::uint64_t>();
    schema.entries.push_back(std::move(entry));
  }
  if (!decoder.ok()) return std::nullopt;
  return schema;
}

}  // namespace gpuprof::wire
