#include "libprof/collect/arena.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bit>
#include <cstring>

namespace gpuprof::collect {
namespace {

constexpr std::uint32_t arena_version = 1;
constexpr std::size_t page = 4096;
constexpr std::size_t entry_count = 1 << 16;
constexpr std::size_t text_size = 8 << 20;

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
  const std::size_t headers_offset = page;
  const std::size_t entries_offset = headers_offset + round_up(slot_count * sizeof(SlotHeader));
  const std::size_t text_offset = entries_offset + round_up(entry_count * sizeof(StringEntry));
  const std::size_t slots_offset = text_offset + round_up(text_size);
  const std::size_t size = slots_offset + slot_count * slot_size;

  file_ = memfd_create("gpuprof-arena", MFD_CLOEXEC);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(size)) != 0 || !map(size)) return false;
  header_->version = arena_version;
  header_->slot_count = slot_count;
  header_->slot_size = slot_size;
  header_->slots_offset = slots_offset;
  header_->entries_offset = entries_offset;
  header_->entry_count = entry_count;
  header_->text_offset = text_offset;
  header_->text_size = text_size;
  slot_headers_ = reinterpret_cast<SlotHeader*>(base_ + headers_offset);
  entries_ = reinterpret_cast<StringEntry*>(base_ + entries_offset);
  text_ = reinterpret_cast<char*>(base_ + text_offset);
  for (std::uint32_t i = slot_count; i > 0; --i) push_free(i - 1);
  header_->magic = arena_magic;
  return true;
}

bool Arena::attach(int file) {
  file_ = file;
  struct stat status {};
  if (fstat(file, &status) != 0 || status.st_size < static_cast<off_t>(page)) return false;
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!map(size)) return false;
  const ArenaHeader& h = *header_;
  // The target could write here until it died: believe nothing that does not add up.
  const bool sound = h.magic == arena_magic && h.version == arena_version && h.slot_count > 0 &&
                     h.slot_count < 1 << 20 && h.slot_size > 0 && h.slot_size <= size &&
                     h.slots_offset <= size &&
                     h.slot_count <= (size - h.slots_offset) / h.slot_size &&
                     h.entries_offset < size && std::has_single_bit(h.entry_count) &&
                     h.entry_count <= (size - h.entries_offset) / sizeof(StringEntry) &&
                     h.text_offset < size && h.text_size <= size - h.text_offset &&
                     page + h.slot_count * sizeof(SlotHeader) <= h.entries_offset;
  if (!sound) return false;
  slot_headers_ = reinterpret_cast<SlotHeader*>(base_ + page);
  entries_ = reinterpret_cast<StringEntry*>(base_ + h.entries_offset);
  text_ = reinterpret_cast<char*>(base_ + h.text_offset);
  return true;
}

std::byte* Arena::lend() {
  std::uint64_t head = header_->free_list.load(std::memory_order_acquire);
  while (true) {
    const auto top = static_cast<std::uint32_t>(head);
    if (top == 0) return nullptr;
    SlotHeader& slot_header = slot_headers_[top - 1];
    const std::uint64_t tag = (head >> 32) + 1;
    const std::uint64_t rest = tag << 32 | slot_header.next.load(std::memory_order_relaxed);
    if (header_->free_list.compare_exchange_weak(head, rest, std::memory_order_acq_rel)) {
      slot_header.generation.fetch_add(1, std::memory_order_relaxed);
      slot_header.state.store(SlotState::lent, std::memory_order_release);
      return slot(top - 1);
    }
  }
}

std::uint32_t Arena::completed(const std::byte* slot_bytes) {
  const auto index =
      static_cast<std::uint32_t>((slot_bytes - slot(0)) / static_cast<std::ptrdiff_t>(slot_size()));
  slot_headers_[index].state.store(SlotState::ours, std::memory_order_release);
  return index;
}

void Arena::give_back(std::uint32_t index, std::size_t used) {
  std::memset(slot(index), 0, used);
  slot_headers_[index].state.store(SlotState::free, std::memory_order_release);
  push_free(index);
}

void Arena::push_free(std::uint32_t index) {
  std::uint64_t head = header_->free_list.load(std::memory_order_acquire);
  std::uint64_t next;
  do {
    slot_headers_[index].next.store(static_cast<std::uint32_t>(head), std::memory_order_relaxed);
    next = ((head >> 32) + 1) << 32 | (index + 1);
  } while (!header_->free_list.compare_exchange_weak(head, next, std::memory_order_acq_rel));
}

void Arena::abandon() {
  if (base_) {
    mmap(base_, size_, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  }
  if (file_ >= 0) close(file_);
  file_ = -1;
}

}  // namespace gpuprof::collect
