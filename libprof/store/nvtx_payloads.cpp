#include "libprof/store/nvtx_payloads.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gpuprof::store {
namespace {

// From nvToolsExtPayload.h; the values are part of NVTX's ABI.
constexpr std::uint64_t first_schema = 1 << 24;
constexpr std::uint64_t type_char = 1, type_uchar = 2, type_float = 19, type_double = 20,
                        type_char8 = 25, type_byte = 32, type_float32 = 43, type_float64 = 44,
                        type_cstring = 75, type_cstring_utf8 = 76;
constexpr std::uint64_t flag_pointer = 1 << 1, flag_offset_from_base = 1 << 2,
                        flag_offset_from_here = 1 << 3;
constexpr std::uint64_t array_kinds = 7 << 4, array_fixed = 1 << 4, array_zero_terminated = 2 << 4,
                        array_length_in_field = 3 << 4;

// Limits on nesting and on the total number of fields visited: a forged layout may contain itself
// in each of its fields.
constexpr int most_depth = 8;
constexpr std::size_t most_fields = 1 << 14;

struct NumberType {
  std::size_t size = 0;  // 0: not a number that we read
  bool is_signed = false;
  bool is_real = false;
};

NumberType number_type(std::uint64_t type) {
  switch (type) {
    case type_char: return {1, true};
    case type_uchar:
    case type_byte: return {1};
    case 3: return {2, true};   // short
    case 4: return {2};         // unsigned short
    case 5: return {4, true};   // int
    case 6: return {4};         // unsigned int
    case 7:                     // long
    case 9: return {8, true};   // long long
    case 8:                     // unsigned long
    case 10: return {8};        // unsigned long long
    case 11: return {1, true};  // int8_t
    case 12: return {1};        // uint8_t
    case 13: return {2, true};  // int16_t
    case 14: return {2};        // uint16_t
    case 15: return {4, true};  // int32_t
    case 16: return {4};        // uint32_t
    case 17: return {8, true};  // int64_t
    case 18: return {8};        // uint64_t
    case type_float:
    case type_float32: return {4, true, true};
    case type_double:
    case type_float64: return {8, true, true};
    case 22:              // size_t
    case 23: return {8};  // an address
    case 67: return {8};  // a range id
    case 68:              // a category
    case 69: return {4};  // a color
    case 70: return {8};  // a scope
    case 71:              // process and thread ids
    case 73: return {4};
    case 72:
    case 74: return {8};
    default: return {};
  }
}

bool is_text(std::uint64_t type) { return type == type_cstring || type == type_cstring_utf8; }
bool is_character(std::uint64_t type) { return type == type_char || type == type_char8; }

class Reader {
 public:
  Reader(std::span<const std::byte> payload, const PayloadSchemaMap& schemas)
      : payload_(payload), schemas_(schemas) {}

  void read(const std::string& field, std::uint64_t type, std::size_t at, int depth = 0) {
    if (values_.size() >= most_values || at > payload_.size()) return;
    if (type >= first_schema) {
      const auto found = schemas_.find(type);
      if (found == schemas_.end() || depth > most_depth) return;
      if (found->second.is_enum) return read_enum(field, found->second, at);
      return read_fields(field, found->second, at, depth);
    }
    if (is_text(type)) return add_text(field, at, payload_.size() - at);
    read_number(field, number_type(type), at);
  }

  std::vector<PayloadValue> take() { return std::move(values_); }

 private:
  using Entry = wire::PayloadEntry;

  std::size_t size_of(std::uint64_t type) const {
    if (type < first_schema) return number_type(type).size;
    const auto found = schemas_.find(type);
    return found == schemas_.end() ? 0 : found->second.size;
  }

  // A layout without offsets has its fields one after another, as in a C struct.
  std::vector<std::size_t> places(const wire::PayloadSchema& schema) const {
    std::vector<std::size_t> places;
    const bool told = std::ranges::any_of(schema.entries, [](const Entry& e) { return e.offset; });
    std::size_t at = 0;
    for (const Entry& entry : schema.entries) {
      const std::size_t size = size_of(entry.type);
      const std::size_t alignment = size == 0 || size > 8 ? 8 : size;
      if (!told) at = (at + alignment - 1) / alignment * alignment;
      places.push_back(told ? entry.offset : at);
      const bool array = (entry.flags & array_kinds) == array_fixed;
      if (at >= payload_.size()) continue;
      at += size * (array ? std::min<std::size_t>(entry.length, payload_.size()) : 1);
    }
    return places;
  }

  void read_fields(const std::string& prefix, const wire::PayloadSchema& schema, std::size_t base,
                   int depth) {
    looked_at_ += schema.entries.size();
    if (looked_at_ > most_fields) return;
    const std::vector<std::size_t> offsets = places(schema);
    for (std::size_t i = 0; i < schema.entries.size(); ++i) {
      const Entry& entry = schema.entries[i];
      if (entry.flags & (flag_pointer | flag_offset_from_base | flag_offset_from_here)) continue;
      if (offsets[i] > payload_.size() - base) continue;
      const std::size_t at = base + offsets[i];
      const std::string field = prefix.empty() ? entry.name : prefix + "." + entry.name;
      const std::uint64_t array = entry.flags & array_kinds;
      const std::size_t rest = payload_.size() - at;
      if (is_text(entry.type) || (array != 0 && is_character(entry.type))) {
        const bool fixed = entry.length > 0 && array != array_length_in_field;
        add_text(field, at, fixed ? std::min<std::size_t>(entry.length, rest) : rest);
      } else if (array == 0) {
        read(field, entry.type, at, depth + 1);
      } else {
        read_array(field, entry, at, length_of(entry, array, schema, offsets, base), depth);
      }
    }
  }

  std::size_t length_of(const Entry& entry, std::uint64_t array, const wire::PayloadSchema& schema,
                        const std::vector<std::size_t>& offsets, std::size_t base) const {
    if (array == array_fixed) return entry.length;
    if (array == array_zero_terminated) return most_values;
    if (array != array_length_in_field || entry.length >= schema.entries.size()) return 0;
    const std::size_t field = entry.length;  // the field with the length
    if (offsets[field] > payload_.size() - base) return 0;
    const auto length = number_at(number_type(schema.entries[field].type), base + offsets[field]);
    return length && *length > 0 ? static_cast<std::size_t>(*length) : 0;
  }

  void read_array(const std::string& field, const Entry& entry, std::size_t at, std::size_t length,
                  int depth) {
    const std::size_t size = size_of(entry.type);
    if (size == 0) return;
    const bool until_zero = (entry.flags & array_kinds) == array_zero_terminated;
    for (std::size_t i = 0; i < length && size <= payload_.size() - at; ++i, at += size) {
      if (values_.size() >= most_values) return;
      if (until_zero && std::ranges::all_of(payload_.subspan(at, size),
                                            [](std::byte b) { return b == std::byte{0}; })) {
        return;
      }
      read(field + "[" + std::to_string(i) + "]", entry.type, at, depth + 1);
    }
  }

  std::optional<std::int64_t> number_at(NumberType type, std::size_t at) const {
    if (type.size == 0 || type.is_real || type.size > payload_.size() - at) return std::nullopt;
    std::uint64_t number = 0;
    std::memcpy(&number, payload_.data() + at, type.size);  // little-endian, like the wire
    const unsigned unused = 64 - 8 * static_cast<unsigned>(type.size);
    if (type.is_signed) return static_cast<std::int64_t>(number << unused) >> unused;
    return static_cast<std::int64_t>(number);
  }

  void read_number(const std::string& field, NumberType type, std::size_t at) {
    if (type.is_real && type.size <= payload_.size() - at) {
      double real = 0;
      if (type.size == sizeof(float)) {
        float narrow;
        std::memcpy(&narrow, payload_.data() + at, sizeof narrow);
        real = narrow;
      } else {
        std::memcpy(&real, payload_.data() + at, sizeof real);
      }
      return add({field, {}, real, {}});
    }
    if (const auto number = number_at(type, at)) add({field, *number, {}, {}});
  }

  void read_enum(const std::string& field, const wire::PayloadSchema& names, std::size_t at) {
    const std::size_t size = names.size;
    if (size != 1 && size != 2 && size != 4 && size != 8) return;
    const auto number = number_at({size, false, false}, at);
    if (!number) return;
    PayloadValue value{field, *number, {}, {}};
    const auto found = std::ranges::find(names.entries, static_cast<std::uint64_t>(*number),
                                         &wire::PayloadEntry::type);
    if (found != names.entries.end()) value.text = found->name;
    add(std::move(value));
  }

  void add_text(const std::string& field, std::size_t at, std::size_t most) {
    const auto* text = reinterpret_cast<const char*>(payload_.data() + at);
    add({field, {}, {}, std::string(text, strnlen(text, most))});
  }

  void add(PayloadValue value) {
    if (values_.size() < most_values) values_.push_back(std::move(value));
  }

  std::span<const std::byte> payload_;
  const PayloadSchemaMap& schemas_;
  std::vector<PayloadValue> values_;
  std::size_t looked_at_ = 0;
};

using Domain = std::pair<std::int64_t, std::int64_t>;  // process, CUPTI's number

std::map<Domain, PayloadSchemaMap> load_schemas(Database& database) {
  std::map<Domain, PayloadSchemaMap> domains;
  Statement rows = database.prepare(
      "SELECT processId, domainId, schemaId, isEnum, schema, size, field, type, flags, length, "
      "\"offset\" FROM NVTX_PAYLOAD_ENTRY ORDER BY processId, domainId, schemaId, place");
  const auto number = [&](int column) { return static_cast<std::uint64_t>(rows.integer(column)); };
  while (rows.step()) {
    wire::PayloadSchema& schema = domains[{rows.integer(0), rows.integer(1)}][number(2)];
    schema.is_enum = rows.integer(3) != 0;
    schema.name = rows.text(4);
    schema.size = number(5);
    schema.entries.push_back(
        {std::string(rows.text(6)), number(7), number(8), number(9), number(10)});
  }
  return domains;
}

}  // namespace

std::vector<PayloadValue> read_payload(std::span<const std::byte> payload, std::uint64_t schema,
                                       const PayloadSchemaMap& schemas) {
  Reader reader(payload, schemas);
  reader.read("", schema, 0);
  return reader.take();
}

void compute_nvtx_payloads(Database& database) {
  constexpr char data[] = "CUPTI_ACTIVITY_KIND_MARKER_DATA";
  // An excerpt of a file from gpuprof 0.1.0 has neither.
  if (!database.has_column(data, "payloadData") || !database.has_table("NVTX_PAYLOAD")) return;
  if (!database.integer("SELECT 1 FROM CUPTI_ACTIVITY_KIND_MARKER_DATA "
                        "WHERE payloadData IS NOT NULL LIMIT 1")) {
    return;
  }
  database.execute("DELETE FROM NVTX_PAYLOAD");
  const auto domains = load_schemas(database);
  const PayloadSchemaMap none;
  Statement payloads = database.prepare(
      "SELECT processId, id, cuptiDomainId, payloadSchema, payloadData "
      "FROM CUPTI_ACTIVITY_KIND_MARKER_DATA WHERE payloadData IS NOT NULL ORDER BY _id_");
  Statement insert =
      database.prepare("INSERT INTO NVTX_PAYLOAD VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  while (payloads.step()) {
    const auto domain = domains.find({payloads.integer(0), payloads.integer(2)});
    const PayloadSchemaMap& schemas = domain == domains.end() ? none : domain->second;
    const auto id = static_cast<std::uint64_t>(payloads.integer(3));
    const auto schema = schemas.find(id);
    for (const PayloadValue& value : read_payload(payloads.blob(4), id, schemas)) {
      insert.bind(1, payloads.integer(0)).bind(2, payloads.integer(1));
      insert.bind(3, schema == schemas.end() ? std::string_view() : schema->second.name);
      insert.bind(4, value.field).bind_null(5).bind_null(6).bind_null(7);
      if (value.integer) insert.bind(5, *value.integer);
      if (value.real) insert.bind(6, *value.real);
      if (value.text) insert.bind(7, *value.text);
      insert.run();
    }
  }
}

}  // namespace gpuprof::store
