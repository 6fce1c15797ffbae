// The memory CUPTI writes records to, shared with the launcher.
//
// A memfd: what CUPTI has put there outlives the target, however it dies, and the launcher reads it
// out (salvage). Slots are lent to CUPTI one at a time; the strings that records point to are kept
// here too, because the pointers die with the target.
//
// Ownership of a slot: free -> (lend, application threads) -> lent to CUPTI -> (completed, CUPTI's
// worker or a flushing thread) -> ours -> (give_back, after its frame is on the wire) -> free. When
// the launcher does not read, the frame waits in the slot (keep): ours -> packed -> free.
// Lending is lock-free. Pages are touched as CUPTI fills them, so many slots cost little until
// used.
#pragma once

#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "libprof/wire/ledger.hpp"

namespace gpuprof::collect {

enum class SlotState : std::uint32_t {
  free = 0,
  lent = 1,
  ours = 2,
  withdrawn = 3,  // nothing in it for salvage: counted as lost, before a batch or for good
  packed = 4,     // holds a batch, ready to be sent
};

struct SlotHeader {
  std::atomic<SlotState> state;
  std::atomic<std::uint32_t> generation;  // counts up each time the slot is lent
  std::atomic<std::uint32_t> next;        // free list
  std::uint32_t length;                   // packed: bytes of the batch
  std::uint64_t turn;                     // packed: batches are sent in this order
};

// One interned string: what stood at `pointer` in the target. `pointer` is written last.
struct StringEntry {
  std::atomic<std::uint64_t> pointer;
  std::uint32_t id;
  std::atomic<std::uint32_t> offset;  // in the text region
  std::uint32_t length;
  std::uint32_t padding;
};

// Which kernel an API call launched: the launch callback notes it, so that a kernel that CUPTI
// never delivered still has its name. Both halves are written at once.
struct LaunchEntry {
  std::uint32_t correlation_id;
  std::uint32_t name;  // place in the launch names' table + 1
};

// A table of strings by pointer: open addressing, entries never move.
struct StringTable {
  std::span<StringEntry> entries;  // a power of two
  std::span<char> text;

  // The entry of a pointer, or the free one where it would go; null when the table is full.
  StringEntry* find(std::uint64_t pointer) const;
  // Whether the entry is that of this string, which still reads as it did. While another text is
  // put there, this compares with one of the two.
  bool reads(const StringEntry& entry, const char* string) const {
    return entry.pointer.load(std::memory_order_acquire) ==
               reinterpret_cast<std::uint64_t>(string) &&
           std::strcmp(string, text.data() + entry.offset.load(std::memory_order_acquire)) == 0;
  }
  // Keeps a string of the target at a place where there is room for it and a zero. One thread at a
  // time.
  void put(StringEntry& entry, std::string_view kept, std::size_t place) const;
  // What an entry holds; empty when it does not add up (a dead target's may not).
  std::string_view text_of(const StringEntry& entry) const;
};

// Stands at the start of the memfd. Offsets are in bytes from there.
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
  // Ids of the collector's own threads, whose driver calls are not the target's. 0 = none yet.
  std::array<std::atomic<std::uint32_t>, 6> own_threads;
  std::atomic<std::uint64_t> free_list;  // low half: slot + 1, high half: a tag against ABA
};

// The ledger (libprof/wire/ledger.hpp) comes behind it, in the same page.
static_assert(sizeof(ArenaHeader) <= wire::ledger_offset);

inline constexpr std::uint64_t arena_magic = 0x616e657261707067;  // "gpparena"
// Changes with the layout: salvage of another version reads nothing.
inline constexpr std::uint32_t arena_version = 2;

class Arena {
 public:
  Arena() = default;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Makes the memfd, with fewer slots where a limit asks for it. false: errno says why.
  bool create(std::uint32_t slot_count, std::size_t slot_size);
  // Maps one that another process made. false: it is none, or a damaged one.
  bool attach(int file);

  // A zeroed slot for CUPTI, or null when all are out. Any thread, lock-free.
  std::byte* lend();
  // The slot came back from CUPTI and is ours now. Returns its index.
  std::uint32_t completed(const std::byte* slot);
  // Salvage no longer takes what is in a slot of ours. It is counted as lost before.
  void withdraw(std::uint32_t slot);
  // Puts a batch into a slot of ours, in place of the records it was packed from, behind those that
  // were put so before. false: it is longer than the slot, which stays as it is. One thread at a
  // time.
  bool keep(std::uint32_t slot, std::span<const iovec> batch);
  // The batch that is in a packed slot; empty when its length cannot be (a dead target's may not).
  std::span<const std::byte> kept(std::uint32_t slot) const;
  // Zeroes what was used and makes the slot free. The caller's frame must be on the wire.
  void give_back(std::uint32_t slot, std::size_t used);

  std::uint32_t slot_count() const { return header_->slot_count; }
  // Looks at all of them.
  std::uint32_t free_slots() const;
  std::size_t slot_size() const { return header_->slot_size; }
  std::byte* slot(std::uint32_t index) const {
    return base_ + header_->slots_offset + index * header_->slot_size;
  }
  SlotHeader& slot_header(std::uint32_t index) const { return slot_headers_[index]; }
  // Strings that records point to.
  StringTable strings() const;
  // Kernels' names as the launch callback gives them, and the launches that used them.
  StringTable launch_names() const;
  std::span<std::atomic<std::uint64_t>> launches() const;

  std::array<std::atomic<std::uint32_t>, 6>& own_threads() const { return header_->own_threads; }
  wire::Ledger& ledger() const {
    return *reinterpret_cast<wire::Ledger*>(base_ + wire::ledger_offset);
  }

  int file() const { return file_; }
  // Counts, texts and ids of threads as create() left them, for another launcher; slots that wait
  // for the last one are free. Nobody may use any of that meanwhile; CUPTI keeps what it was lent.
  void reset();
  // For the child of a fork: private, empty memory takes the arena's place, so that what CUPTI may
  // still write there harms nobody. Nothing but lend() may be called afterwards; it gives null.
  void abandon();

 private:
  bool map(std::size_t size);
  void push_free(std::uint32_t slot);
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
};

}  // namespace gpuprof::collect
