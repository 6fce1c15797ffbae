// The memory CUPTI writes records to, shared with the launcher.
//
// A memfd: what CUPTI has written there outlives the target, however it dies, and the launcher
// reads it afterwards (salvage). Slots are lent to CUPTI one at a time; strings that records point
// to are kept here too, because the pointers die with the target.
//
// Ownership of a slot: free -> (lend, application threads) -> lent to CUPTI -> (completed, CUPTI's
// worker or a flushing thread) -> ours -> (give_back, after its frame is on the wire) -> free. When
// the launcher does not read, the frame waits in the slot (keep): ours -> packed -> free. Lending
// is lock-free. Pages are touched only as CUPTI fills them, so unused slots cost little.
//
// Smaller slots, whose numbers follow, are for records that the collector writes itself, of calls
// and of NVTX (thread_slots.hpp): free -> (lend_calls) -> calls, while a thread writes to it ->
// calls_done
// -> (give_back_calls, after its last batch is on the wire) -> free. Their batches are sent while
// the thread writes on, so the header says how far they got.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "libprof/wire/ledger.hpp"

namespace gpuprof::collect {

enum class SlotState : std::uint32_t {
  free = 0,
  lent = 1,
  ours = 2,
  withdrawn = 3,   // nothing for salvage: counted as lost, before a batch or for good
  packed = 4,      // holds a batch, ready to be sent
  calls = 5,       // a thread of the target writes records of its calls
  calls_done = 6,  // holds records of calls; its thread has left it
};

// A batch of records of calls: the last record ends at `end` in the slot.
struct CallBatch {
  std::uint32_t end;
  std::uint32_t generation;
};
static_assert(std::atomic<CallBatch>::is_always_lock_free);

// Who writes to a slot of calls.
struct Writer {
  std::uint32_t process;
  std::uint32_t thread;
};

// A line of the cache of its own: a thread writes to its slot's header with each record.
struct alignas(64) SlotHeader {
  std::atomic<SlotState> state;
  std::atomic<std::uint32_t> generation;  // counts up each time the slot is lent
  std::atomic<std::uint32_t> next;        // free list
  std::uint32_t length;                   // packed: size of the batch in bytes
  std::uint64_t turn;                     // packed: batches are sent in this order
  // Slots of calls: the thread that writes, and bytes from the start of the slot.
  Writer writer;
  std::atomic<std::uint32_t> used;  // finished records end here
  std::atomic<std::uint32_t> sent;  // records before this are on the wire
  std::atomic<CallBatch> sending;   // the last batch, whether or not it arrived
};

// One interned string: the text at `pointer` in the target. `pointer` is written last.
struct StringEntry {
  std::atomic<std::uint64_t> pointer;
  std::uint32_t id;
  std::atomic<std::uint32_t> offset;  // within the text region
  std::uint32_t length;
  std::uint32_t padding;
};

// The kernel that an API call launched: the launch callback records it, so that a kernel that CUPTI
// never delivered still has its name. Both halves are written atomically together.
struct LaunchEntry {
  std::uint32_t correlation_id;
  std::uint32_t name;  // index in the table of launch names + 1
};

// A table of strings by pointer: open addressing, entries never move.
struct StringTable {
  std::span<StringEntry> entries;  // a power of two
  std::span<char> text;

  // The entry of a pointer, or the free one where it would go; null if the table is full.
  StringEntry* find(std::uint64_t pointer) const;
  // Whether the entry is for this pointer and its text is unchanged. During a concurrent put(),
  // compares with either the old or the new text.
  bool reads(const StringEntry& entry, const char* string) const {
    return entry.pointer.load(std::memory_order_acquire) ==
               reinterpret_cast<std::uint64_t>(string) &&
           std::strcmp(string, text.data() + entry.offset.load(std::memory_order_acquire)) == 0;
  }
  // Stores a string of the target at `place`, where there is room for it and a terminating zero.
  // One thread at a time.
  void put(StringEntry& entry, std::string_view kept, std::size_t place) const;
  // The text of an entry; empty if inconsistent (a dead target's may be).
  std::string_view text_of(const StringEntry& entry) const;
};

// Located at the start of the memfd. Offsets are in bytes from there.
struct ArenaHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t slot_count;
  std::uint64_t slot_size;
  std::uint64_t slots_offset;
  std::uint64_t entries_offset;
  std::uint64_t entry_count;  // a power of two
  std::uint64_t text_offset;
  std::uint64_t text_size;
  std::uint64_t names_offset;
  std::uint64_t name_count;  // a power of two
  std::uint64_t names_text_offset;
  std::uint64_t names_text_size;
  std::uint64_t launches_offset;
  std::uint64_t launch_count;  // a power of two
  std::uint64_t call_slots_offset;
  std::uint64_t call_slot_size;
  std::uint32_t call_slot_count;
  std::uint32_t padding;
  // Ids of the collector's own threads, whose driver calls are not the target's. 0 = unused.
  std::array<std::atomic<std::uint32_t>, 6> own_threads;
  // Low half: slot + 1, high half: a tag against ABA.
  std::atomic<std::uint64_t> free_list;
  std::atomic<std::uint64_t> free_call_slots;
};

// The ledger (libprof/wire/ledger.hpp) follows in the same page.
static_assert(sizeof(ArenaHeader) <= wire::ledger_offset);

inline constexpr std::uint64_t arena_magic = 0x616e657261707067;  // "gpparena"
// Changes with the layout: salvage of another version reads nothing.
inline constexpr std::uint32_t arena_version = 5;

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Creates the memfd, with fewer slots if a resource limit requires it. false: see errno.
  bool create(std::uint32_t slot_count, std::size_t slot_size);
  // Maps the arena of another process. false: it is not an arena, or is damaged.
  bool attach(int file);

  // A zeroed slot for CUPTI, or null if all are in use. Any thread, lock-free.
  std::byte* lend();
  // CUPTI returned the slot, which is ours now. Returns its index.
  std::uint32_t completed(const std::byte* slot);
  // Salvage will ignore the content of this slot of ours, which must already be counted as lost.
  void withdraw(std::uint32_t slot);
  // Replaces the records in a slot of ours with the batch packed from them; it is sent after the
  // batches kept earlier. false: the batch is longer than the slot, which is unchanged. One thread
  // at a time.
  bool keep(std::uint32_t slot, std::span<const iovec> batch);
  // The batch in a packed slot; empty if its length is impossible (a dead target's may be).
  std::span<const std::byte> kept(std::uint32_t slot) const;
  // Zeroes the used part and frees the slot. The caller's frame must be on the wire.
  void give_back(std::uint32_t slot, std::size_t used);

  // A slot for the calls of one thread, or nullopt if all are in use. Any thread, lock-free.
  std::optional<std::uint32_t> lend_calls(Writer writer);
  // All of its records are on the wire.
  void give_back_calls(std::uint32_t slot);
  // Has the system make the memory of the next `ahead` slots that lend_calls() has not lent yet, so
  // that the threads that write to them need not wait for it. One thread.
  void prepare_calls(std::uint32_t ahead);

  // Slots for CUPTI.
  std::uint32_t slot_count() const { return header_->slot_count; }
  // Slots of calls have the numbers from slot_count() to here.
  std::uint32_t all_slots() const { return header_->slot_count + header_->call_slot_count; }
  std::size_t call_slot_size() const { return header_->call_slot_size; }
  // Scans all slots.
  std::uint32_t free_slots() const;
  std::size_t slot_size() const { return header_->slot_size; }
  std::byte* slot(std::uint32_t index) const {
    return index < slot_count() ? base_ + header_->slots_offset + index * header_->slot_size
                                : base_ + header_->call_slots_offset +
                                      (index - slot_count()) * header_->call_slot_size;
  }
  SlotHeader& slot_header(std::uint32_t index) const { return slot_headers_[index]; }
  // Strings that records point to.
  StringTable strings() const;
  // Kernel names from the launch callback, and the launches that used them.
  StringTable launch_names() const;
  std::span<std::atomic<std::uint64_t>> launches() const;

  std::array<std::atomic<std::uint32_t>, 6>& own_threads() const { return header_->own_threads; }
  wire::Ledger& ledger() const {
    return *reinterpret_cast<wire::Ledger*>(base_ + wire::ledger_offset);
  }

  int file() const { return file_; }
  // Restores counts, texts and thread ids to their state after create(), for another launcher, and
  // frees slots that were waiting for the last one. Nobody may use any of these meanwhile; CUPTI
  // keeps the slots it was lent.
  void reset();
  // Gives the memory of free slots back to the system. CUPTI gets none of them meanwhile.
  void release_free_slots();
  // For the child of a fork: replaces the arena with private, empty memory, so that CUPTI's late
  // writes do no harm. Afterwards only lend() may be called; it returns null.
  void abandon();

 private:
  bool map(std::size_t size);
  // 0: the list is empty; otherwise the number of the slot + 1.
  std::uint32_t pop(std::atomic<std::uint64_t>& free_list);
  void push(std::atomic<std::uint64_t>& free_list, std::uint32_t slot);
  template <class T>
  std::span<T> region(std::uint64_t offset, std::uint64_t count) const {
    return {reinterpret_cast<T*>(base_ + offset), static_cast<std::size_t>(count)};
  }

  int file_ = -1;
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  ArenaHeader* header_ = nullptr;
  SlotHeader* slot_headers_ = nullptr;
  std::uint64_t last_turn_ = 0;
  std::uint32_t prepared_ = 0;  // slots of calls whose memory was touched
};

}  // namespace gpuprof::collect
