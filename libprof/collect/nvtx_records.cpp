#include "libprof/collect/nvtx_records.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace gpuprof::collect {
namespace {

// Longer texts and payloads are truncated.
constexpr std::size_t most_text = 16 << 10;
using schema::extract::most_payload_bytes;

// Tells the listener of a pop when that is recorded.
class ToldOfPop {
 public:
  explicit ToldOfPop(const NvtxRecords::Listener* listener) : listener_(listener) {}
  ~ToldOfPop() {
    if (listener_) listener_->pop();
  }
  ToldOfPop(const ToldOfPop&) = delete;
  ToldOfPop& operator=(const ToldOfPop&) = delete;

 private:
  const NvtxRecords::Listener* const listener_;
};

// Ranges that a thread may have open; any deeper ones have no records.
constexpr std::uint32_t most_ranges = 256;
// A thread reserves this many numbers at a time.
constexpr std::uint32_t ids_at_once = 256;
// Texts of the slot that a thread remembers, by their address in the program.
constexpr std::size_t known_texts = 64;

constexpr std::uint8_t of_thread = CUPTI_ACTIVITY_OBJECT_THREAD;
constexpr std::uint8_t of_process = CUPTI_ACTIVITY_OBJECT_PROCESS;

std::size_t place_of(const char* text) {
  return reinterpret_cast<std::uint64_t>(text) * 0x9e3779b97f4a7c15 >> 58;
}
static_assert(known_texts == 1 << (64 - 58));

// The payload of an event as CUPTI has it.
void set_payload(const nvtxEventAttributes_t& event, MarkerDataEntry& data) {
  const auto set = [&data](CUpti_MetricValueKind kind, auto value) {
    static_assert(sizeof value == sizeof data.payload);
    data.payload_kind = kind;
    std::memcpy(&data.payload, &value, sizeof value);
  };
  switch (event.payloadType) {
    case NVTX_PAYLOAD_TYPE_INT64: return set(CUPTI_METRIC_VALUE_KIND_INT64, event.payload.llValue);
    case NVTX_PAYLOAD_TYPE_INT32:
      return set(CUPTI_METRIC_VALUE_KIND_INT64, std::int64_t{event.payload.iValue});
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      return set(CUPTI_METRIC_VALUE_KIND_UINT64, std::uint64_t{event.payload.uiValue});
    case NVTX_PAYLOAD_TYPE_DOUBLE: return set(CUPTI_METRIC_VALUE_KIND_DOUBLE, event.payload.dValue);
    case NVTX_PAYLOAD_TYPE_FLOAT:
      return set(CUPTI_METRIC_VALUE_KIND_DOUBLE, double{event.payload.fValue});
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      return set(CUPTI_METRIC_VALUE_KIND_UINT64, event.payload.ullValue);
    default: return set(CUPTI_METRIC_VALUE_KIND_UINT64, std::uint64_t{0});
  }
}

bool has_data(const nvtxEventAttributes_t* event) {
  return event && (event->payloadType != NVTX_PAYLOAD_UNKNOWN ||
                   event->colorType != NVTX_COLOR_UNKNOWN || event->category != 0);
}

// The size that a program may leave to the tool for a text.
std::size_t size_of(const nvtxPayloadData_t& payload) {
  if (payload.size != SIZE_MAX) return std::min<std::size_t>(payload.size, most_payload_bytes);
  const bool is_text = payload.schemaId == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING ||
                       payload.schemaId == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF8;
  return is_text ? strnlen(static_cast<const char*>(payload.payload), most_payload_bytes) : 0;
}

}  // namespace

struct NvtxRecords::Thread {
  struct Open {
    const NvtxDomain* domain;
    std::uint32_t id;  // 0: it has no records
    std::int32_t level;
  };
  struct Text {
    const char* pointer;
    std::uint32_t turn;  // of the slot that has it
    BytesAt place;
  };

  std::uint64_t trace = 0;
  std::uint32_t next_id = 0;
  std::uint32_t ids = 0;     // that are left
  std::uint32_t depth = 0;   // of `open`
  std::uint32_t deeper = 0;  // ranges beyond
  std::array<Open, most_ranges> open{};
  std::array<Text, known_texts> texts{};

  static constexpr BytesAt not_there = no_bytes - 1;

  // Where the slot, the thread's one of this turn, has a text; no_bytes for none.
  BytesAt find(const std::byte* slot, std::uint32_t turn, const char* text, bool kept) const {
    if (!text) return no_bytes;
    const Text& known = texts[place_of(text)];
    const bool same = known.pointer == text && known.turn == turn &&
                      (kept || is_same(text, reinterpret_cast<const char*>(slot + known.place) +
                                                 sizeof(BytesEntry)));
    return same ? known.place : not_there;
  }
  static bool is_same(const char* text, const char* there) {
    // Most texts are too short for strcmp to pay.
    for (int i = 0; i < 16; ++i) {
      if (text[i] != there[i]) return false;
      if (text[i] == 0) return true;
    }
    return std::strcmp(text + 16, there + 16) == 0;
  }

  // The innermost range of a domain; null: it has none.
  Open* innermost(const NvtxDomain& domain) {
    for (std::uint32_t at = depth; at > 0; --at) {
      if (open[at - 1].domain == &domain) return &open[at - 1];
    }
    return nullptr;
  }
};

constinit thread_local NvtxRecords::Thread NvtxRecords::thread_;

// Entries that are added to a slot together; nothing is added if one does not fit.
class NvtxRecords::Entries {
 public:
  Entries(std::byte* slot, std::size_t used, std::size_t size)
      : slot_(slot), begin_(used), at_(used), size_(size) {}

  template <class T>
  void add(const T& entry) {
    if (std::byte* const place = take(sizeof entry)) std::memcpy(place, &entry, sizeof entry);
  }
  BytesAt add_bytes(const void* bytes, std::size_t length, std::uint64_t schema) {
    const auto where = static_cast<BytesAt>(at_);
    std::byte* const place = take(size_of_bytes_entry(length));
    if (!place) return no_bytes;
    const BytesEntry entry{Entry::bytes, 0, static_cast<std::uint32_t>(length), schema};
    std::memcpy(place, &entry, sizeof entry);
    if (length > 0) std::memcpy(place + sizeof entry, bytes, length);
    place[sizeof entry + length] = std::byte{0};
    return where;
  }
  // A text, which may be in the slot already. `kept`: it is one that never changes.
  BytesAt text(Thread& thread, std::uint32_t turn, const char* text, bool kept) {
    const BytesAt there = thread.find(slot_, turn, text, kept);
    if (there != Thread::not_there) return there;
    const BytesAt place = add_bytes(text, strnlen(text, most_text), 0);
    thread.texts[place_of(text)] = {text, turn, place};
    return place;
  }

  bool fit() const { return fit_; }
  std::size_t size() const { return at_ - begin_; }

 private:
  std::byte* take(std::size_t length) {
    fit_ = fit_ && length <= size_ - at_;
    if (!fit_) return nullptr;
    std::byte* const place = slot_ + at_;
    at_ += length;
    return place;
  }

  std::byte* slot_;
  std::size_t begin_, at_, size_;
  bool fit_ = true;
};

bool NvtxRecords::is_enabled(const NvtxDomain& domain) const {
  return records(domain) || listener_.load(std::memory_order_relaxed);
}

NvtxRecords::Thread& NvtxRecords::here(ThreadSlots::Thread& slot) {
  if (!slot.nvtx) slot.nvtx = &thread_;
  Thread& thread = *static_cast<Thread*>(slot.nvtx);
  if (thread.trace == slot.trace) return thread;
  // Ranges that are open are of an earlier trace.
  thread.depth = thread.deeper = 0;
  thread.trace = slot.trace;
  return thread;
}

std::uint32_t NvtxRecords::next_id(Thread& thread) {
  if (thread.ids == 0) {
    thread.next_id = ids_.fetch_add(ids_at_once, std::memory_order_relaxed);
    thread.ids = ids_at_once;
  }
  --thread.ids;
  const std::uint32_t id = thread.next_id++;
  return id != 0 ? id : next_id(thread);
}

std::uint32_t NvtxRecords::new_id() { return next_id(thread_); }

template <class Compose>
bool NvtxRecords::write_entries(ThreadSlots::Thread& slot, Thread& thread, Compose&& compose) {
  // In the rest of the slot, or else in a new one.
  for (std::size_t least = sizeof(MarkerEntry);; least = slots_.slot_size()) {
    if (!slots_.make_room(slot, least)) return false;
    Entries entries(slot.bytes, slot.used, slots_.slot_size());
    compose(entries, thread, slot.turn);
    if (entries.fit()) [[likely]] {
      slot.written(entries.size());
      return true;
    }
    if (least == slots_.slot_size()) return false;
  }
}

// The way of nearly all markers.
inline bool NvtxRecords::write_known(ThreadSlots::Thread& slot, const Thread& thread,
                                     MarkerEntry& marker, const NvtxDomain& domain,
                                     const NvtxEvent& event) const {
  if (!slot.has_slot || sizeof marker > slots_.slot_size() - slot.used) return false;
  marker.name = thread.find(slot.bytes, slot.turn, event.message, event.message_is_kept);
  if (!domain.name.empty()) {
    marker.domain = thread.find(slot.bytes, slot.turn, domain.name.c_str(), true);
  }
  if (marker.name == Thread::not_there || marker.domain == Thread::not_there) return false;
  std::memcpy(slot.end(), &marker, sizeof marker);
  slot.written(sizeof marker);
  return true;
}

bool NvtxRecords::write(ThreadSlots::Thread& slot, Thread& thread, MarkerEntry marker,
                        const NvtxDomain& domain, const NvtxEvent& event) {
  const bool has_data = collect::has_data(event.attributes);
  if (!has_data && event.payloads.empty() && write_known(slot, thread, marker, domain, event))
      [[likely]] {
    return true;
  }
  const bool written =
      write_entries(slot, thread, [&](Entries& entries, Thread& texts, std::uint32_t turn) {
        marker.name = entries.text(texts, turn, event.message, event.message_is_kept);
        marker.domain =
            domain.name.empty() ? no_bytes : entries.text(texts, turn, domain.name.c_str(), true);
        entries.add(marker);
        if (!has_data && event.payloads.empty()) return;
        MarkerDataEntry data{.entry = Entry::marker_data,
                             .flags = 0,
                             .id = marker.id,
                             .payload = 0,
                             .payload_kind = CUPTI_METRIC_VALUE_KIND_UINT64,
                             .color = 0,
                             .category = 0,
                             .domain = domain.number};
        if (has_data) {
          if (event.attributes->colorType == NVTX_COLOR_ARGB) {
            data.flags = CUPTI_ACTIVITY_FLAG_MARKER_COLOR_ARGB;
            data.color = event.attributes->color;
          }
          data.category = event.attributes->category;
          set_payload(*event.attributes, data);
        }
        if (event.payloads.empty()) return entries.add(data);
        for (const nvtxPayloadData_t& payload : event.payloads) {
          data.payload_kind = CUPTI_METRIC_VALUE_KIND_NVTX_EXTENDED_PAYLOAD;
          data.payload = payload.payload ? entries.add_bytes(payload.payload, size_of(payload),
                                                             payload.schemaId)
                                         : no_bytes;
          entries.add(data);
        }
      });
  if (!written) {
    slots_.count_lost(CUPTI_ACTIVITY_KIND_MARKER);
    const std::size_t lost = event.payloads.empty() ? has_data : event.payloads.size();
    for (std::size_t i = 0; i < lost; ++i) slots_.count_lost(CUPTI_ACTIVITY_KIND_MARKER_DATA);
  }
  return written;
}

void NvtxRecords::mark(const NvtxDomain& domain, const NvtxEvent& event) {
  if (!records(domain)) return;
  ThreadSlots::Thread& slot = slots_.here();
  const Costs::Callback timed(slots_.costs(), slot.timed, wire::Count::cost_nvtx);
  Thread& thread = here(slot);
  write(slot, thread,
        {Entry::marker, CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS, of_thread, next_id(thread),
         slots_.now(), no_bytes, no_bytes},
        domain, event);
}

int NvtxRecords::push(const NvtxDomain& domain, const NvtxEvent& event) {
  ThreadSlots::Thread& slot = slots_.here();
  const Costs::Callback timed(slots_.costs(), slot.timed, wire::Count::cost_nvtx);
  if (const Listener* const listener = listener_.load(std::memory_order_acquire)) {
    listener->push(event.message);
  }
  if (slot.trace == 0) return NVTX_NO_PUSH_POP_TRACKING;
  Thread& thread = here(slot);
  const Thread::Open* const around = thread.innermost(domain);
  const std::int32_t level = around ? around->level + 1 : 0;
  if (thread.depth == most_ranges) {
    ++thread.deeper;
    for (int i = 0; records(domain) && i < 2; ++i) slots_.count_lost(CUPTI_ACTIVITY_KIND_MARKER);
    return level;
  }
  std::uint32_t id = 0;
  if (records(domain)) {
    id = next_id(thread);
    const bool written = write(slot, thread,
                               {Entry::marker, CUPTI_ACTIVITY_FLAG_MARKER_START, of_thread, id,
                                slots_.now(), no_bytes, no_bytes},
                               domain, event);
    if (!written) {
      id = 0;
      slots_.count_lost(CUPTI_ACTIVITY_KIND_MARKER);  // its end has no record either
    }
  }
  thread.open[thread.depth++] = {&domain, id, level};
  return level;
}

int NvtxRecords::pop(const NvtxDomain& domain, std::span<const nvtxPayloadData_t> payloads) {
  ThreadSlots::Thread& slot = slots_.here();
  const Costs::Callback timed(slots_.costs(), slot.timed, wire::Count::cost_nvtx);
  const ToldOfPop told(listener_.load(std::memory_order_acquire));
  if (slot.trace == 0) return NVTX_NO_PUSH_POP_TRACKING;
  Thread& thread = here(slot);
  Thread::Open* const innermost = thread.innermost(domain);
  if (thread.deeper > 0) {
    --thread.deeper;
    return innermost ? innermost->level + 1 : 0;
  }
  if (!innermost) return NVTX_NO_PUSH_POP_TRACKING;
  const Thread::Open open = *innermost;
  --thread.depth;
  Thread::Open* const last = thread.open.data() + thread.depth;
  if (innermost != last) std::copy(innermost + 1, last + 1, innermost);
  if (open.id != 0 && records(domain)) {
    write(slot, thread,
          {Entry::marker, CUPTI_ACTIVITY_FLAG_MARKER_END, of_thread, open.id, slots_.now(),
           no_bytes, no_bytes},
          domain, {.payloads = payloads});
  }
  return open.level;
}

nvtxRangeId_t NvtxRecords::start(const NvtxDomain& domain, const NvtxEvent& event) {
  if (!records(domain)) return 0;
  ThreadSlots::Thread& slot = slots_.here();
  const Costs::Callback timed(slots_.costs(), slot.timed, wire::Count::cost_nvtx);
  Thread& thread = here(slot);
  const std::uint32_t id = next_id(thread);
  const bool written = write(slot, thread,
                             {Entry::marker, CUPTI_ACTIVITY_FLAG_MARKER_START, of_process, id,
                              slots_.now(), no_bytes, no_bytes},
                             domain, event);
  if (written) return id;
  slots_.count_lost(CUPTI_ACTIVITY_KIND_MARKER);  // its end has no record either
  return 0;
}

void NvtxRecords::end(nvtxRangeId_t id, const NvtxDomain& domain,
                      std::span<const nvtxPayloadData_t> payloads) {
  if (id == 0 || !records(domain)) return;
  ThreadSlots::Thread& slot = slots_.here();
  const Costs::Callback timed(slots_.costs(), slot.timed, wire::Count::cost_nvtx);
  write(slot, here(slot),
        {Entry::marker, CUPTI_ACTIVITY_FLAG_MARKER_END, of_process, static_cast<std::uint32_t>(id),
         slots_.now(), no_bytes, no_bytes},
        domain, {.payloads = payloads});
}

void NvtxRecords::synchronize(const NvtxDomain& domain, std::uint32_t object, const char* name,
                              std::uint32_t flag) {
  if (!records(domain)) return;
  ThreadSlots::Thread& slot = slots_.here();
  write(slot, here(slot),
        {Entry::marker, static_cast<std::uint8_t>(flag), of_thread, object, slots_.now(), no_bytes,
         no_bytes},
        domain, {.message = name});
}

void NvtxRecords::name(CUpti_ActivityObjectKind kind, const CUpti_ActivityObjectKindId& object,
                       const char* name) {
  if (!name || !on_.load(std::memory_order_relaxed)) return;
  NameEntry entry{};
  entry.entry = Entry::name;
  entry.object_kind = static_cast<std::uint16_t>(kind);
  std::memcpy(entry.object, &object, sizeof entry.object);
  ThreadSlots::Thread& slot = slots_.here();
  const bool written =
      write_entries(slot, here(slot), [&](Entries& entries, Thread& texts, std::uint32_t turn) {
        entry.name = entries.text(texts, turn, name, false);
        entries.add(entry);
      });
  if (!written) slots_.count_lost(CUPTI_ACTIVITY_KIND_NAME);
}

}  // namespace gpuprof::collect
