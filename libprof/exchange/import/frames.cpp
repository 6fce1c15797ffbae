#include "libprof/exchange/import/frames.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/wire/limits.hpp"
#include "schema/nvprof_api.hpp"

namespace gpuprof::importing {
namespace {

constexpr std::size_t most_held = std::size_t{16} << 20;
constexpr std::size_t most_processes = 4096;
// As in collect/strings.hpp: ids start over before a loader drops the oldest.
constexpr std::size_t most_strings = 100'000, most_string_bytes = std::size_t{32} << 20;
// CUPTI's own numbers are far below.
constexpr std::uint32_t first_own_number = wire::max_callback_id / 2;

template <class T>
bool put(std::byte* at, std::int64_t value, bool nullable) {
  using Limits = std::numeric_limits<T>;
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (value < 0) return false;
  } else {
    constexpr std::int64_t low = Limits::min(), high = Limits::max();
    if (value < low || value > high) return false;
    // The value that represents NULL.
    if (nullable && value == (std::is_signed_v<T> ? low : high)) return false;
  }
  wire::save(at, static_cast<T>(value));
  return true;
}

template <class T>
void put_null(std::byte* at) {
  using Limits = std::numeric_limits<T>;
  wire::save(at, std::is_signed_v<T> ? Limits::min() : Limits::max());
}

void put_null(std::byte* at, schema::Type type) {
  switch (type) {
    case schema::Type::i8: return put_null<std::int8_t>(at);
    case schema::Type::u8: return put_null<std::uint8_t>(at);
    case schema::Type::i16: return put_null<std::int16_t>(at);
    case schema::Type::u16: return put_null<std::uint16_t>(at);
    case schema::Type::i32: return put_null<std::int32_t>(at);
    case schema::Type::u32: return put_null<std::uint32_t>(at);
    case schema::Type::i64: return put_null<std::int64_t>(at);
    case schema::Type::u64: return put_null<std::uint64_t>(at);
    default: return;  // NULL is zero
  }
}

}  // namespace

Layout::Layout(const schema::Table& table, std::span<const std::string_view> columns) {
  table_.id = static_cast<std::uint32_t>(table.kind);
  table_.name = table.name;
  table_.doc = table.doc;
  std::size_t offset = 0;
  for (const std::string_view name : columns) {
    const auto column = std::ranges::find(table.columns, name, &schema::Column::name);
    if (column == table.columns.end()) {
      throw Error(table_.name + " has no column " + std::string(name));
    }
    Cell cell{.offset = offset, .width = column->width, .type = column->type, .role = {}};
    if (column->role == schema::Role::correlation) {
      cell.role = schema::Role::correlation_or_null;
    } else if (column->type <= schema::Type::u64) {
      cell.role = schema::Role::nullable;
    } else if (name == "uuid") {  // not every device has one here
      cell.type = schema::Type::bytes;
      cell.width = schema::width_of(schema::Type::bytes);
    }
    offset += cell.width;
    cells_.push_back(cell);
    table_.columns.push_back({.name = std::string(name),
                              .type = cell.type,
                              .role = cell.role,
                              .width = cell.width,
                              .doc = schema::written_doc(*column)});
  }
  nulls_.resize(offset);
  for (const Cell& cell : cells_) {
    if (cell.role == schema::Role::nullable) put_null(nulls_.data() + cell.offset, cell.type);
  }
}

bool ImportedRow::set(std::size_t column, std::int64_t value) {
  const Layout::Cell& cell = layout_.cells()[column];
  std::byte* at = bytes_ + cell.offset;
  const bool nullable = cell.role == schema::Role::nullable;
  // Half of the range of ids, so that none seems to be past the end of CUPTI's counter.
  if (cell.role == schema::Role::correlation_or_null && value > INT32_MAX) return false;
  switch (cell.type) {
    case schema::Type::i8: return put<std::int8_t>(at, value, nullable);
    case schema::Type::u8: return put<std::uint8_t>(at, value, nullable);
    case schema::Type::i16: return put<std::int16_t>(at, value, nullable);
    case schema::Type::u16: return put<std::uint16_t>(at, value, nullable);
    case schema::Type::i32: return put<std::int32_t>(at, value, nullable);
    case schema::Type::i64: return put<std::int64_t>(at, value, nullable);
    case schema::Type::u64: return put<std::uint64_t>(at, value, nullable);
    case schema::Type::u32:
      // CUPTI and others use these for "none".
      if (nullable && (value == -1 || value == UINT32_MAX)) return true;
      [[fallthrough]];
    case schema::Type::string:
    case schema::Type::bytes: return put<std::uint32_t>(at, value, nullable);
    default: return false;
  }
}

void ImportedRow::set_blob(std::size_t column, std::span<const std::byte> bytes) {
  const Layout::Cell& cell = layout_.cells()[column];
  std::ranges::copy(bytes.first(std::min<std::size_t>(bytes.size(), cell.width)),
                    bytes_ + cell.offset);
}

Process::Process(FrameWriter& writer, std::uint32_t stream, std::int64_t id)
    : writer_(writer), stream_(stream), id_(id) {}

ImportedRow Process::add(const Layout& layout) {
  if (writer_.held_ > most_held) writer_.flush_all();
  if (strings_.size() >= most_strings || writer_.strings_held_ > most_string_bytes) {
    writer_.forget_strings();
  }
  const std::uint32_t table = layout.table().id;
  if (std::ranges::find(defined_, table) == defined_.end()) {
    defined_.push_back(table);
    wire::Encoder definition;
    encode(definition, layout.table());
    writer_.send(wire::FrameType::table, *this, definition.bytes());
  }
  Rows& rows = rows_[table];
  ++rows.count;
  ++writer_.rows_;
  const std::size_t at = rows.bytes.size();
  rows.bytes.insert(rows.bytes.end(), layout.nulls().begin(), layout.nulls().end());
  writer_.held_ += layout.nulls().size();
  return ImportedRow(layout, rows.bytes.data() + at);
}

std::uint32_t Process::string(std::string_view text) {
  if (text.empty()) return 0;
  std::string clean = valid_utf8(text.substr(0, FrameWriter::longest_text));
  const auto [place, is_new] =
      strings_.try_emplace(std::move(clean), static_cast<std::uint32_t>(strings_.size() + 1));
  if (is_new) {
    new_strings_.integer(place->second).text(place->first);
    ++new_string_count_;
    writer_.strings_held_ += place->first.size();
    writer_.held_ += place->first.size();
  }
  return place->second;
}

std::uint32_t Process::bytes(std::string_view bytes) {
  if (new_bytes_count_ >= wire::max_byte_strings / 2) return 0;
  new_bytes_.integer(++new_bytes_count_).text(bytes);
  writer_.held_ += bytes.size();
  return new_bytes_count_;
}

void Process::flush() {
  wire::Encoder blocks;
  std::uint32_t count = 0;
  const auto block = [&](std::uint32_t table, std::uint32_t rows,
                         std::span<const std::byte> bytes) {
    if (rows == 0) return;
    blocks.integer(wire::BlockHeader{table, rows, bytes.size()}).raw(bytes);
    ++count;
  };
  block(wire::string_block, std::exchange(new_string_count_, 0), new_strings_.bytes());
  block(wire::bytes_block, std::exchange(new_bytes_count_, 0), new_bytes_.bytes());
  new_strings_ = {};
  new_bytes_ = {};
  for (auto& [table, rows] : rows_) block(table, rows.count, rows.bytes);
  rows_.clear();
  if (count == 0) return;
  wire::Encoder batch;
  batch.integer(wire::BatchHeader{wire::no_slot, 0, count, 0}).raw(blocks.bytes());
  writer_.send(wire::FrameType::batch, *this, batch.bytes());
}

Process* FrameWriter::process(std::int64_t id, const wire::Fields& fields) {
  const auto known = processes_.find(id);
  if (known != processes_.end()) return known->second.get();
  if (processes_.size() >= most_processes) return nullptr;
  auto made = std::make_unique<Process>(*this, static_cast<std::uint32_t>(processes_.size()), id);
  wire::Fields told = fields;
  told.set("process_id", id);
  wire::Encoder hello;
  hello.integer(wire::version).fields(told);
  send(wire::FrameType::hello, *made, hello.bytes());
  return processes_.emplace(id, std::move(made)).first->second.get();
}

std::uint32_t FrameWriter::callback_id(Process& process, bool runtime, std::string_view name,
                                       std::optional<std::int64_t> given) {
  if (name.empty() || name.size() > wire::max_name) return 0;
  Functions& functions = runtime ? runtime_ : driver_;
  if (const auto known = functions.numbers.find(name); known != functions.numbers.end()) {
    return known->second;
  }
  std::uint32_t number = 0;
  const auto is_free = [&](std::uint32_t each) { return !functions.names.contains(each); };
  if (given && *given > 0 && *given < first_own_number &&
      is_free(static_cast<std::uint32_t>(*given))) {
    number = static_cast<std::uint32_t>(*given);
  }
  const auto nvprofs = schema::nvprof_api_names(runtime);
  if (const auto place = std::ranges::find(nvprofs, name);
      number == 0 && place != nvprofs.end() &&
      is_free(static_cast<std::uint32_t>(place - nvprofs.begin()))) {
    number = static_cast<std::uint32_t>(place - nvprofs.begin());
  }
  if (number == 0) {
    if (first_own_number + own_numbers_ >= wire::max_callback_id) return 0;
    number = first_own_number + own_numbers_++;
  }
  const std::string clean = valid_utf8(name);
  functions.numbers.emplace(name, number);
  functions.names.emplace(number, clean);
  wire::Encoder names;
  const wire::ApiName told[]{
      {.domain = runtime ? "runtime" : "driver", .cbid = number, .name = clean}};
  encode(names, std::span(told));
  send(wire::FrameType::api_names, process, names.bytes());
  return number;
}

void FrameWriter::clock(Process& process, std::int64_t time, std::int64_t realtime) {
  wire::Encoder clock;
  encode(clock, wire::Clock{.realtime = realtime, .cupti = time});
  send(wire::FrameType::clock, process, clock.bytes());
}

void FrameWriter::send(wire::FrameType type, const Process& process,
                       std::span<const std::byte> payload) {
  take_(wire::make_frame(type, process.stream_, payload));
}

void FrameWriter::flush_all() {
  for (const auto& [id, process] : processes_) process->flush();
  held_ = 0;
}

void FrameWriter::forget_strings() {
  flush_all();
  for (const auto& [id, process] : processes_) process->strings_.clear();
  strings_held_ = 0;
}

void FrameWriter::finish() {
  flush_all();
  for (const auto& [id, process] : processes_) send(wire::FrameType::stream_end, *process, {});
}

}  // namespace gpuprof::importing
