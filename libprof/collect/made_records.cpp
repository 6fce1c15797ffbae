#include "libprof/collect/made_records.hpp"

#include <cstring>

#include "libprof/base/padded_text.hpp"
#include "libprof/collect/nccl_types.hpp"

namespace gpuprof::collect {
namespace {

// The size of a record that is CUPTI's own struct; 0: the collector makes none of this kind.
constexpr std::size_t size_of_record(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2);
    default: return 0;
  }
}

// Sets a member that is an enum, of a packed record. Not by a cast: a number that no enumerator has
// would be undefined behavior.
void set_number(void* member, std::uint32_t number) { std::memcpy(member, &number, sizeof number); }

// More would not fit into any memory.
constexpr std::uint64_t most_nccl_elements = std::uint64_t{1} << 56;

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

}  // namespace

std::size_t MadeRecords::read(std::size_t from, std::size_t end, Record& record) const {
  const std::byte* const at = bytes_ + from;
  const std::size_t room = end - from;
  const auto entry = [&]<class T>(T*) -> std::size_t {
    if (sizeof(T) > room) return 0;
    make(load<T>(at), record);
    return sizeof(T);
  };
  switch (load<Entry>(at)) {
    case Entry::marker: return entry(static_cast<MarkerEntry*>(nullptr));
    case Entry::marker_data: return entry(static_cast<MarkerDataEntry*>(nullptr));
    case Entry::name: return entry(static_cast<NameEntry*>(nullptr));
    case Entry::stack_frame: return entry(static_cast<StackFrameEntry*>(nullptr));
    case Entry::native_frame: return entry(static_cast<NativeFrameEntry*>(nullptr));
    case Entry::call_stack: return entry(static_cast<CallStackEntry*>(nullptr));
    case Entry::graph_node: return entry(static_cast<GraphNodeEntry*>(nullptr));
    case Entry::nccl_operation: return entry(static_cast<NcclOperationEntry*>(nullptr));
    case Entry::nccl_node: return entry(static_cast<NcclNodeEntry*>(nullptr));
    case Entry::stack: {
      const auto stack = load<StackEntry>(at);
      const std::size_t size = size_of_stack_entry(stack.count);
      if (size > room) return 0;
      record.stack = stack;
      return size;
    }
    case Entry::bytes: {
      const BytesEntry* const bytes = bytes_at(from);
      const std::size_t size = bytes ? size_of_bytes_entry(bytes->length) : 0;
      return size <= room ? size : 0;
    }
    default: break;
  }
  const std::size_t size = size_of_record(load<std::uint32_t>(at));
  if (size > room) return 0;
  record.activity = reinterpret_cast<const CUpti_Activity*>(at);
  return size;
}

const BytesEntry* MadeRecords::bytes_at(std::uint64_t place) const {
  if (place % 8 != 0 || size_ < sizeof(BytesEntry) || place >= size_ - sizeof(BytesEntry)) {
    return nullptr;
  }
  const auto* const entry = reinterpret_cast<const BytesEntry*>(bytes_ + place);
  const std::size_t room = size_ - place - sizeof(BytesEntry);
  return entry->entry == Entry::bytes && entry->length < room ? entry : nullptr;
}

const char* MadeRecords::text_at(BytesAt place) const {
  const BytesEntry* const entry = bytes_at(place);
  if (!entry) return nullptr;
  const auto* const text = reinterpret_cast<const char*>(entry + 1);
  return text[entry->length] == 0 ? text : nullptr;
}

std::string_view MadeRecords::short_text_at(BytesAt place) const {
  const char* const text = text_at(place);
  const std::string_view whole = text ? text : "";
  return whole.size() < most_short_text ? whole : "";
}

void MadeRecords::make(const MarkerEntry& entry, Record& record) const {
  CUpti_ActivityMarker2& marker = record.marker;
  marker = {};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  set_number(&marker.flags, entry.flags);
  marker.timestamp = entry.time;
  marker.id = entry.id;
  set_number(&marker.objectKind, entry.object_kind);
  marker.objectId.pt.processId = writer_.process;
  marker.objectId.pt.threadId = writer_.thread;
  marker.name = text_at(entry.name);
  marker.domain = text_at(entry.domain);
  record.activity = reinterpret_cast<const CUpti_Activity*>(&marker);
}

void MadeRecords::make(const MarkerDataEntry& entry, Record& record) const {
  CUpti_ActivityMarkerData2& data = record.data;
  data = {};
  data.kind = CUPTI_ACTIVITY_KIND_MARKER_DATA;
  set_number(&data.flags, entry.flags);
  data.id = entry.id;
  set_number(&data.payloadKind, entry.payload_kind);
  data.color = entry.color;
  data.category = entry.category;
  data.cuptiDomainId = entry.domain;
  data.payload.metricValueUint64 = entry.payload;
  if (entry.payload_kind == CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD) {
    const BytesEntry* const bytes = bytes_at(entry.payload);
    if (bytes) {
      record.payload = {bytes->schema, bytes->length, const_cast<BytesEntry*>(bytes) + 1};
    }
    data.payload.metricValueNvtxExtendedPayload =
        bytes ? reinterpret_cast<std::uint64_t>(&record.payload) : 0;
  }
  record.activity = reinterpret_cast<const CUpti_Activity*>(&data);
}

void MadeRecords::make(const StackFrameEntry& entry, Record& record) const {
  record.frame = {entry.number, short_text_at(entry.file), std::nullopt,
                  short_text_at(entry.function),
                  entry.line == 0 ? std::nullopt : std::optional(entry.line)};
}

void MadeRecords::make(const NativeFrameEntry& entry, Record& record) const {
  record.frame = {entry.number, short_text_at(entry.module), entry.offset, {}, std::nullopt};
}

void MadeRecords::make(const CallStackEntry& entry, Record& record) {
  record.call = {entry.correlation, entry.stack};
}

void MadeRecords::make(const GraphNodeEntry& entry, Record& record) {
  const auto source = entry.source == 0 ? std::nullopt : std::optional(entry.source);
  if (entry.node != 0) record.node = {entry.node, source, entry.correlation};
  if (entry.own != 0) record.own_node = {entry.own, source, entry.correlation};
}

void MadeRecords::make(const NcclOperationEntry& entry, Record& record) const {
  record.nccl = entry;
  const NcclOperationEntry& its = record.nccl;
  const auto known = [](std::int32_t number) {
    return number < 0 ? std::nullopt : std::optional(number);
  };
  const std::string_view type = unpadded(its.type);
  const std::uint64_t size = nccl_element_size(type);
  const bool has_bytes = size != 0 && its.count <= most_nccl_elements;
  record.operation = {
      .time = its.time,
      .thread = writer_.thread,
      .communicator = its.communicator,
      .name = unpadded(its.name),
      .rank = known(its.rank),
      .ranks = known(its.ranks),
      .function = unpadded(its.function),
      .sequence = its.sequence,
      .type = type,
      .count = its.count,
      .bytes = has_bytes ? std::optional(size * its.count) : std::nullopt,
      .root = known(its.root),
      .peer = known(its.peer),
      .algorithm = unpadded(its.algorithm),
      .protocol = unpadded(its.protocol),
      .channels =
          its.channels < 0 ? std::nullopt : std::optional(static_cast<std::uint8_t>(its.channels)),
      .captured = its.flags & NcclOperationEntry::says_captured
                      ? std::optional((its.flags & NcclOperationEntry::captured) != 0)
                      : std::nullopt,
      .node = its.node == 0 ? std::nullopt : std::optional(its.node),
      .correlation = its.correlation};
}

void MadeRecords::make(const NcclNodeEntry& entry, Record& record) {
  record.nccl_node = {entry.node, entry.source};
}

std::uint32_t MadeRecords::frame_at(std::size_t from, std::uint32_t position) const {
  return load<std::uint32_t>(bytes_ + from + sizeof(StackEntry) + position * sizeof(position));
}

void MadeRecords::make(const NameEntry& entry, Record& record) const {
  CUpti_ActivityName& name = record.name;
  name = {};
  name.kind = CUPTI_ACTIVITY_KIND_NAME;
  set_number(&name.objectKind, entry.object_kind);
  static_assert(sizeof name.objectId == sizeof entry.object);
  std::memcpy(&name.objectId, entry.object, sizeof entry.object);
  name.name = text_at(entry.name);
  record.activity = reinterpret_cast<const CUpti_Activity*>(&name);
}

}  // namespace gpuprof::collect
