#include "libprof/collect/packer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "libprof/collect/made_records.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::collect {
namespace {

using PackRow = void (*)(const void* record, std::uint32_t version, Strings& strings,
                         std::byte* out);

// Whose record it is, which decides what of it can be read.
enum class Origin { cupti, dead, collector };

// The offset of column I in K's packed row.
template <class K, std::size_t I>
constexpr std::size_t place = [] {
  std::size_t at = 0;
  for (std::size_t i = 0; i < I; ++i) at += K::columns[i].width;
  return at;
}();

template <class K, Origin From, std::size_t I>
inline void pack_field(const std::byte* record, std::uint32_t version, Strings& strings,
                       std::byte* row) {
  constexpr schema::Field field = K::fields[I];
  constexpr std::size_t width = field.column.width;
  std::byte* out = row + place<K, I>;
  constexpr bool live = From != Origin::dead;
  if constexpr (field.since != 0) {
    if (version < field.since) {
      std::memset(out, 0, width);
      return;
    }
  }
  if constexpr (field.follows_pointer && !live) {
    std::memset(out, 0xff, width);
  } else if constexpr (field.extract != nullptr) {
    field.extract(record, version, out);
  } else if constexpr (field.column.type == schema::Type::string) {
    const char* text;
    std::memcpy(&text, record + field.offset, sizeof text);
    std::uint32_t id;
    if constexpr (From == Origin::collector) {
      id = text ? strings.intern_text(text) : 0;
    } else {
      id = strings.intern(text);
    }
    std::memcpy(out, &id, sizeof id);
  } else if constexpr (field.find != nullptr) {
    const std::span<const std::byte> found =
        live ? field.find(record, version) : std::span<const std::byte>();
    const std::uint32_t id = found.empty() ? 0 : strings.bytes(found.data(), found.size());
    std::memcpy(out, &id, sizeof id);
  } else if constexpr (field.column.type == schema::Type::bytes) {
    const void* data;
    std::uint32_t size;
    std::memcpy(&data, record + field.offset, sizeof data);
    std::memcpy(&size, record + field.size_offset, sizeof size);
    const std::uint32_t id = live ? strings.bytes(data, size) : 0;
    std::memcpy(out, &id, sizeof id);
  } else {
    std::memcpy(out, record + field.offset, width);
  }
}

template <class K, Origin From>
void pack_row(const void* record, std::uint32_t version, Strings& strings, std::byte* out) {
  const auto* bytes = static_cast<const std::byte*>(record);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (pack_field<K, From, I>(bytes, version, strings, out), ...);
  }
  (std::make_index_sequence<K::fields.size()>());
  if constexpr (From == Origin::cupti) {
    schema::release<K>(*static_cast<const typename K::Record*>(record));
  }
}

template <class K>
void release_record(const void* record) {
  schema::release<K>(*static_cast<const typename K::Record*>(record));
}

struct KindPacker {
  PackRow pack = nullptr;              // for records of this process
  PackRow pack_left_behind = nullptr;  // for those of a dead one
  PackRow pack_made = nullptr;         // for those of the collector
  void (*release)(const void* record) = nullptr;
  std::size_t width = 0;
};

constexpr std::array<KindPacker, kind_limit> make_packers() {
  std::array<KindPacker, kind_limit> packers{};
  schema::for_each_kind([&]<class K>() {
    KindPacker& packer = packers[K::info.id];
    packer = {&pack_row<K, Origin::cupti>, &pack_row<K, Origin::dead>, nullptr, &release_record<K>,
              schema::row_width(K::columns)};
    // Records of calls point to nothing.
    packer.pack_made = packer.pack;
    if constexpr (is_of_nvtx(K::info.id)) {
      packer.pack_made = &pack_row<K, Origin::collector>;
    }
  });
  return packers;
}

constexpr auto packers = make_packers();

// Where a row of our own tables goes.
class OwnRow : public schema::RowSink {
 public:
  OwnRow(Strings& strings, std::vector<std::byte>& row) : strings_(strings), row_(row) {}
  void bytes(std::span<const std::byte> value) override {
    row_.insert(row_.end(), value.begin(), value.end());
  }
  std::uint32_t name(std::string_view text) override {
    return text.empty() ? 0 : strings_.intern_text(text);
  }
  std::uint32_t text(std::string_view text) override {
    return strings_.bytes(text.data(), text.size());
  }

 private:
  Strings& strings_;
  std::vector<std::byte>& row_;
};

// Instead of a kind: why there is no row.
constexpr std::size_t left_out = kind_limit;
constexpr std::size_t not_known = kind_limit + 1;
constexpr std::size_t of_profiler = kind_limit + 2;

// No template, because a copy for each kind takes seconds to compile.
wire::WireTable wire_table(int kind, const schema::Table& table,
                           std::span<const schema::Field> fields, std::uint32_t cupti_version) {
  wire::WireTable described{
      static_cast<std::uint32_t>(kind), std::string(table.name), std::string(table.doc), {}};
  for (const schema::Field& field : fields) {
    const schema::Column& column = field.column;
    described.columns.push_back({std::string(column.name), column.type, column.role, column.width,
                                 cupti_version >= field.since, schema::written_doc(column)});
  }
  return described;
}

}  // namespace

std::vector<wire::WireTable> wire_tables(std::uint32_t cupti_version) {
  std::vector<wire::WireTable> tables;
  schema::for_each_kind([&]<class K>() {
    tables.push_back(wire_table(K::info.id, K::table, K::fields, cupti_version));
  });
  return tables;
}

inline std::size_t Packer::stored_as(const CUpti_Activity* record, bool made) const {
  auto kind = static_cast<std::size_t>(record->kind);
  const bool call = kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  if (call && makes_calls_ && !made) return left_out;
  if (kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION && makes_waits_ && !made) return left_out;
  if (is_kernel(kind) && !wanted_[kind]) {
    constexpr std::size_t both = CUPTI_ACTIVITY_KIND_KERNEL + CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kind = both - kind;  // the other one
  }
  if (kind >= kind_limit || !packers[kind].pack) return not_known;
  if (!wanted_[kind]) return left_out;
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER && own_threads_) {
    const auto thread = reinterpret_cast<const CUpti_ActivityAPI*>(record)->threadId;
    for (const auto& own : *own_threads_) {
      if (thread == own.load(std::memory_order_relaxed)) return left_out;
    }
  }
  if (beside_profiler_ && is_kernel(kind)) {
    const char* name = reinterpret_cast<const schema::ConcurrentKernel::Record*>(record)->name;
    if (strings_.reads(name, "WaitNs")) return of_profiler;
  }
  return kind;
}

void Packer::add(const CUpti_Activity* record) { add(record, false); }
void Packer::add_made(const CUpti_Activity* record) { add(record, true); }

void Packer::add(const CUpti_Activity* record, bool made) {
  const std::size_t kind = stored_as(record, made);
  if (kind >= kind_limit) {
    if (kind == not_known) ++unknown_;
    if (kind == of_profiler) {
      // Lets salvage recognize the kernel.
      strings_.intern(reinterpret_cast<const schema::ConcurrentKernel::Record*>(record)->name);
      ++profiler_kernels_;
    }
    return;
  }
  if (is_kernel(kind) &&
      reinterpret_cast<const schema::ConcurrentKernel::Record*>(record)->start == 0) {
    ++untimed_kernels_;
  }
  if (kind == CUPTI_ACTIVITY_KIND_MARKER_DATA && payload_schemas_) {
    const auto& data = *reinterpret_cast<const schema::MarkerData::Record*>(record);
    if (const auto* payload = schema::extract::extended_payload(data)) {
      payload_schemas_(data.cuptiDomainId, payload->schema);
    }
  }
  Rows& rows = rows_[kind];
  const std::size_t at = rows.bytes.size();
  const std::size_t width = packers[kind].width;
  if (at + width > rows.bytes.capacity()) rows.bytes.reserve(2 * at + 64 * width);
  rows.bytes.resize(at + width);
  const PackRow pack = made                             ? packers[kind].pack_made
                       : records_kind_ == Records::live ? packers[kind].pack
                                                        : packers[kind].pack_left_behind;
  pack(record, cupti_version_, strings_, rows.bytes.data() + at);
  ++rows.count;
  ++records_;
}

template <class T>
void Packer::add_row(const typename T::Row& row) {
  Rows& rows = own_rows_[T::id];
  OwnRow sink(strings_, rows.bytes);
  for (const auto& field : T::fields) field.write(row, sink);
  ++rows.count;
  ++records_;
}
template void Packer::add_row<schema::CallStack>(const schema::CallStack::Row&);
template void Packer::add_row<schema::StackEntry>(const schema::StackEntry::Row&);
template void Packer::add_row<schema::StackFrame>(const schema::StackFrame::Row&);
template void Packer::add_row<schema::GraphNode>(const schema::GraphNode::Row&);
template void Packer::add_row<schema::NcclOperation>(const schema::NcclOperation::Row&);
template void Packer::add_row<schema::NcclNode>(const schema::NcclNode::Row&);

void Packer::count(const CUpti_Activity* record, std::span<std::uint64_t> by_kind) const {
  std::size_t kind = stored_as(record, false);
  if (kind == left_out || kind == of_profiler) return;
  if (kind == not_known) {
    kind = static_cast<std::size_t>(record->kind);
  } else {
    packers[kind].release(record);
  }
  ++by_kind[std::min(kind, by_kind.size() - 1)];
}

void Packer::clear() {
  clear_rows();
  strings_.clear();
}

void Packer::clear_rows() {
  for (Rows& rows : rows_) {
    rows.count = 0;
    rows.bytes.clear();
  }
  own_rows_.clear();
}

Batch::Batch(const Packer& packer, wire::BatchHeader header) : header_(header) {
  pieces_[piece_count_++] = {&header_, sizeof header_};
  const StringBlock& text = packer.strings().fresh();
  const StringBlock& raw = packer.strings().fresh_bytes();
  add_block(wire::string_block, text.count(), text.bytes());
  add_block(wire::bytes_block, raw.count(), raw.bytes());
  for (std::uint32_t kind = 1; kind < kind_limit; ++kind) {
    const Packer::Rows& rows = packer.rows()[kind];
    add_block(kind, rows.count, rows.bytes);
  }
  for (const auto& [table, rows] : packer.own_rows()) add_block(table, rows.count, rows.bytes);
}

void Batch::add_block(std::uint32_t table, std::uint32_t rows,
                      const std::vector<std::byte>& bytes) {
  if (rows == 0) return;
  wire::BlockHeader& block = blocks_[header_.blocks++];
  block = {table, rows, bytes.size()};
  pieces_[piece_count_++] = {&block, sizeof block};
  pieces_[piece_count_++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace gpuprof::collect
