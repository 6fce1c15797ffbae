#include "libprof/collect/arena.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <vector>

namespace gpuprof::collect {
namespace {

constexpr std::size_t page = 4096;
static_assert(page == wire::ledger_end);
constexpr std::size_t entry_count = 1 << 16;
constexpr std::size_t text_size = 8 << 20;

constexpr std::size_t name_count = 1 << 14;
constexpr std::size_t names_text_size = 4 << 20;
// A kernel's name is found if it was among the last `launch_count` launches. Small enough to stay
// in a core's cache, since it is written on every launch.
constexpr std::size_t launch_count = 1 << 15;

// Slots of calls: one for each thread that makes calls, and those it has filled since the last
// flush.
constexpr std::uint32_t call_slots_per_slot = 4;
constexpr std::size_t most_call_slot_bytes = 1 << 16;

// MADV_POPULATE_WRITE of Linux 5.14, which older headers lack.
constexpr int populate_for_writing = 23;

constexpr std::size_t round_up(std::size_t size) { return (size + page - 1) / page * page; }

}  // namespace

Arena::~Arena() {
  if (base_) munmap(base_, size_);
  if (file_ >= 0) close(file_);
}

bool Arena::map(std::size_t size) {
  void* mapping = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (mapping == MAP_FAILED) return false;
  base_ = static_cast<std::byte*>(mapping);
  size_ = size;
  header_ = reinterpret_cast<ArenaHeader*>(base_);
  return true;
}

bool Arena::create(std::uint32_t slot_count, std::size_t slot_size) {
  std::size_t size = page;
  const auto reserve = [&](std::size_t bytes) {
    const std::size_t offset = size;
    size += round_up(bytes);
    return offset;
  };
  ArenaHeader layout{};
  layout.version = arena_version;
  layout.slot_size = slot_size;
  layout.call_slot_size = std::min(slot_size, most_call_slot_bytes);
  const std::size_t headers_offset =
      reserve((1 + call_slots_per_slot) * slot_count * sizeof(SlotHeader));
  layout.entry_count = entry_count;
  layout.entries_offset = reserve(entry_count * sizeof(StringEntry));
  layout.text_size = text_size;
  layout.text_offset = reserve(text_size);
  layout.name_count = name_count;
  layout.names_offset = reserve(name_count * sizeof(StringEntry));
  layout.names_text_size = names_text_size;
  layout.names_text_offset = reserve(names_text_size);
  layout.launch_count = launch_count;
  layout.launches_offset = reserve(launch_count * sizeof(LaunchEntry));
  layout.slots_offset = size;
  const std::size_t slot_with_calls = slot_size + call_slots_per_slot * layout.call_slot_size;
  // A file size limit applies to this file too, and exceeding it raises a fatal signal.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const std::size_t room = limit.rlim_cur > size ? limit.rlim_cur - size : 0;
    slot_count =
        static_cast<std::uint32_t>(std::min<std::size_t>(slot_count, room / slot_with_calls));
  }
  if (slot_count == 0) {
    errno = EFBIG;
    return false;
  }
  layout.slot_count = slot_count;
  layout.call_slot_count = call_slots_per_slot * slot_count;
  layout.call_slots_offset = size + slot_count * slot_size;
  size += slot_count * slot_with_calls;

  file_ = memfd_create("gpuprof-arena", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size)) != 0 || !map(size)) return false;
  std::memcpy(static_cast<void*>(header_), &layout, sizeof layout);
  slot_headers_ = reinterpret_cast<SlotHeader*>(base_ + headers_offset);
  for (std::uint32_t i = slot_count; i > 0; --i) push(header_->free_list, i - 1);
  for (std::uint32_t i = all_slots(); i > slot_count; --i) push(header_->free_call_slots, i - 1);
  header_->magic = arena_magic;
  ledger().magic = wire::ledger_magic;
  return true;
}

bool Arena::attach(int file) {
  file_ = file;
  struct stat status {};
  if (fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(page)) return false;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!map(size)) return false;
  const ArenaHeader& h = *header_;
  // The target could write here until it died: trust nothing that is inconsistent.
  const auto fits = [&](std::uint64_t offset, std::uint64_t count, std::size_t each) {
    return offset >= page && offset <= size && offset % 8 == 0 && each > 0 &&
           count <= (size - offset) / each;
  };
  const bool sound = h.magic == arena_magic && h.version == arena_version && h.slot_count > 0 &&
                     h.slot_size > 0 && h.slot_size % 8 == 0 && h.call_slot_size > 0 &&
                     h.call_slot_size % 8 == 0 && h.slot_count <= UINT32_MAX - h.call_slot_count &&
                     fits(page, h.slot_count + h.call_slot_count, sizeof(SlotHeader)) &&
                     fits(h.slots_offset, h.slot_count, h.slot_size) &&
                     fits(h.call_slots_offset, h.call_slot_count, h.call_slot_size) &&
                     std::has_single_bit(h.entry_count) &&
                     fits(h.entries_offset, h.entry_count, sizeof(StringEntry)) &&
                     fits(h.text_offset, h.text_size, 1) && std::has_single_bit(h.name_count) &&
                     fits(h.names_offset, h.name_count, sizeof(StringEntry)) &&
                     fits(h.names_text_offset, h.names_text_size, 1) &&
                     std::has_single_bit(h.launch_count) &&
                     fits(h.launches_offset, h.launch_count, sizeof(LaunchEntry));
  if (!sound) return false;
  slot_headers_ = reinterpret_cast<SlotHeader*>(base_ + page);
  return true;
}

StringTable Arena::strings() const {
  return {region<StringEntry>(header_->entries_offset, header_->entry_count),
          region<char>(header_->text_offset, header_->text_size)};
}

StringTable Arena::launch_names() const {
  return {region<StringEntry>(header_->names_offset, header_->name_count),
          region<char>(header_->names_text_offset, header_->names_text_size)};
}

std::span<std::atomic<std::uint64_t>> Arena::launches() const {
  static_assert(sizeof(LaunchEntry) == sizeof(std::atomic<std::uint64_t>));
  return region<std::atomic<std::uint64_t>>(header_->launches_offset, header_->launch_count);
}

StringEntry* StringTable::find(std::uint64_t pointer) const {
  const std::size_t mask = entries.size() - 1;
  std::size_t i = static_cast<std::size_t>((pointer * 0x9e3779b97f4a7c15) >> 40) & mask;
  for (std::size_t tries = 0; tries <= mask; ++tries, i = (i + 1) & mask) {
    const std::uint64_t there = entries[i].pointer.load(std::memory_order_acquire);
    if (there == pointer || there == 0) return &entries[i];
  }
  return nullptr;
}

void StringTable::put(StringEntry& entry, std::string_view kept, std::size_t place) const {
  std::memcpy(text.data() + place, kept.data(), kept.size());
  text[place + kept.size()] = 0;
  entry.length = static_cast<std::uint32_t>(kept.size());
  entry.offset.store(static_cast<std::uint32_t>(place), std::memory_order_release);
  entry.pointer.store(reinterpret_cast<std::uint64_t>(kept.data()), std::memory_order_release);
}

std::string_view StringTable::text_of(const StringEntry& entry) const {
  const std::uint32_t offset = entry.offset.load(std::memory_order_relaxed);
  if (offset > text.size() || entry.length > text.size() - offset) return {};
  return {text.data() + offset, entry.length};
}

std::byte* Arena::lend() {
  const std::uint32_t top = pop(header_->free_list);
  if (top == 0) return nullptr;
  SlotHeader& slot_header = slot_headers_[top - 1];
  slot_header.generation.fetch_add(1, std::memory_order_relaxed);
  slot_header.state.store(SlotState::lent, std::memory_order_release);
  return slot(top - 1);
}

std::optional<std::uint32_t> Arena::lend_calls(Writer writer) {
  const std::uint32_t top = pop(header_->free_call_slots);
  if (top == 0) return std::nullopt;
  SlotHeader& slot_header = slot_headers_[top - 1];
  slot_header.writer = writer;
  slot_header.used.store(0, std::memory_order_relaxed);
  slot_header.sent.store(0, std::memory_order_relaxed);
  slot_header.sending.store({}, std::memory_order_relaxed);
  slot_header.state.store(SlotState::calls, std::memory_order_release);
  return top - 1;
}

void Arena::give_back_calls(std::uint32_t index) {
  slot_headers_[index].state.store(SlotState::free, std::memory_order_release);
  push(header_->free_call_slots, index);
}

// They are lent in the order of their numbers until some come back, which are lent again first.
void Arena::prepare_calls(std::uint32_t ahead) {
  const auto was_lent = [&](std::uint32_t number) {
    const SlotHeader& slot_header = slot_headers_[slot_count() + number];
    return slot_header.used.load(std::memory_order_relaxed) != 0 ||
           slot_header.state.load(std::memory_order_relaxed) != SlotState::free;
  };
  std::uint32_t unused = 0;
  for (std::uint32_t at = prepared_; at > 0 && unused < ahead && !was_lent(at - 1); --at) ++unused;
  const std::uint32_t more = std::min(ahead - unused, header_->call_slot_count - prepared_);
  if (more == 0) return;
  // Older kernels refuse: then pages are made as they are written to.
  madvise(slot(slot_count() + prepared_), more * call_slot_size(), populate_for_writing);
  prepared_ += more;
}

std::uint32_t Arena::completed(const std::byte* slot_bytes) {
  const auto index =
      static_cast<std::uint32_t>((slot_bytes - slot(0)) / static_cast<std::ptrdiff_t>(slot_size()));
  slot_headers_[index].state.store(SlotState::ours, std::memory_order_release);
  return index;
}

void Arena::withdraw(std::uint32_t index) {
  slot_headers_[index].state.store(SlotState::withdrawn, std::memory_order_release);
}

bool Arena::keep(std::uint32_t index, std::span<const iovec> batch) {
  std::size_t length = 0;
  for (const iovec& piece : batch) length += piece.iov_len;
  if (length > slot_size()) return false;
  SlotHeader& slot_header = slot_headers_[index];
  withdraw(index);
  std::byte* at = slot(index);
  for (const iovec& piece : batch) {
    if (piece.iov_len > 0) std::memcpy(at, piece.iov_base, piece.iov_len);
    at += piece.iov_len;
  }
  slot_header.length = static_cast<std::uint32_t>(length);
  slot_header.turn = ++last_turn_;
  slot_header.state.store(SlotState::packed, std::memory_order_release);
  return true;
}

std::span<const std::byte> Arena::kept(std::uint32_t index) const {
  const std::uint32_t length = slot_headers_[index].length;
  return length <= slot_size() ? std::span<const std::byte>(slot(index), length)
                               : std::span<const std::byte>();
}

std::uint32_t Arena::free_slots() const {
  std::uint32_t count = 0;
  for (std::uint32_t i = 0; i < slot_count(); ++i) {
    count += slot_headers_[i].state.load(std::memory_order_relaxed) == SlotState::free;
  }
  return count;
}

void Arena::give_back(std::uint32_t index, std::size_t used) {
  std::byte* const bytes = slot(index);
  std::memset(bytes, 0, used);
  // CUPTI may have written beyond what it reports as used, perhaps a record it abandoned. Such
  // remains would be mistaken for records after a later death.
  static constexpr std::byte zeros[page] = {};
  for (std::size_t at = used; at < slot_size();) {
    const std::size_t length = std::min(page - at % page, slot_size() - at);
    if (std::memcmp(bytes + at, zeros, length) == 0) break;
    std::memset(bytes + at, 0, length);
    at += length;
  }
  slot_headers_[index].state.store(SlotState::free, std::memory_order_release);
  push(header_->free_list, index);
}

void Arena::reset() {
  for (std::uint32_t i = 0; i < slot_count(); ++i) {
    const SlotState state = slot_headers_[i].state.load(std::memory_order_acquire);
    if (state != SlotState::free && state != SlotState::lent) give_back(i, slot_size());
  }
  for (std::uint32_t i = slot_count(); i < all_slots(); ++i) {
    if (slot_headers_[i].state.load(std::memory_order_acquire) != SlotState::free) {
      give_back_calls(i);
    }
  }
  for (const StringTable& table : {strings(), launch_names()}) {
    std::memset(static_cast<void*>(table.entries.data()), 0, table.entries.size_bytes());
  }
  for (auto& launch : launches()) launch.store(0, std::memory_order_relaxed);
  for (auto& thread : own_threads()) thread.store(0, std::memory_order_relaxed);
  for (auto& count : ledger().counted) count.store(0);
  for (auto& count : ledger().discarded) count.store(0);
  ledger().ended.store(0);
  last_turn_ = 0;
}

std::uint32_t Arena::pop(std::atomic<std::uint64_t>& free_list) {
  std::uint64_t head = free_list.load(std::memory_order_acquire);
  while (true) {
    const auto top = static_cast<std::uint32_t>(head);
    if (top == 0) return 0;
    const std::uint64_t tag = (head >> 32) + 1;
    const std::uint64_t rest =
        tag << 32 | slot_headers_[top - 1].next.load(std::memory_order_relaxed);
    if (free_list.compare_exchange_weak(head, rest, std::memory_order_acq_rel)) return top;
  }
}

void Arena::push(std::atomic<std::uint64_t>& free_list, std::uint32_t index) {
  std::uint64_t head = free_list.load(std::memory_order_acquire);
  std::uint64_t next;
  do {
    slot_headers_[index].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
  } while (!free_list.compare_exchange_weak(head, next, std::memory_order_acq_rel));
}

void Arena::release_free_slots() {
  std::vector<std::uint32_t> free;
  while (const std::uint32_t number = pop(header_->free_list)) free.push_back(number - 1);
  for (const std::uint32_t index : free) {
    // They are zero, as is memory that was given back.
    static_cast<void>(
        fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  static_cast<off_t>(header_->slots_offset + index * header_->slot_size),
                  static_cast<off_t>(header_->slot_size)));
    push(header_->free_list, index);
  }
}

void Arena::abandon() {
  if (base_) {
    // If this fails, the child keeps sharing the memory: there is nothing better to do in it.
    static_cast<void>(mmap(base_, size_, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0));
  }
  if (file_ >= 0) close(file_);
  file_ = -1;
}

}  // namespace gpuprof::collect
