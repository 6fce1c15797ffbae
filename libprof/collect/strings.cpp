#include "libprof/collect/strings.hpp"

#include <algorithm>
#include <cstring>

#include "libprof/wire/format.hpp"

namespace gpuprof::collect {
namespace {

std::size_t place(std::uint64_t pointer, std::size_t count) {
  return static_cast<std::size_t>((pointer * 0x9e3779b97f4a7c15) >> 40) & (count - 1);
}

}  // namespace

void StringBlock::add(std::uint32_t id, std::string_view text) {
  const std::size_t at = bytes_.size();
  bytes_.resize(at + 8 + text.size());
  wire::save(bytes_.data() + at, id);
  wire::save(bytes_.data() + at + 4, static_cast<std::uint32_t>(text.size()));
  if (!text.empty()) std::memcpy(bytes_.data() + at + 8, text.data(), text.size());
  ++count_;
}

void StringBlock::clear() {
  bytes_.clear();
  count_ = 0;
}

std::uint32_t LiveStrings::intern(const char* text) {
  if (!text) return 0;
  const auto entries = arena_.entries();
  const auto pointer = reinterpret_cast<std::uint64_t>(text);
  std::size_t i = place(pointer, entries.size());
  while (true) {
    StringEntry& entry = entries[i];
    const std::uint64_t there = entry.pointer.load(std::memory_order_relaxed);
    if (there == pointer) {
      // The kept copy ends with a zero, so this compares whole strings.
      if (std::strcmp(text, arena_.text().data() + entry.offset) == 0) return entry.id;
      break;
    }
    if (there == 0) break;
    i = (i + 1) & (entries.size() - 1);
  }

  const std::size_t length = std::strlen(text);
  const std::size_t kept = std::min<std::size_t>(length, arena_.text().size() / 4);
  if (used_entries_ + 1 > entries.size() / 2 || used_text_ + kept + 1 > arena_.text().size()) {
    start_over();
    i = place(pointer, entries.size());
  }
  StringEntry& entry = entries[i];
  char* copy = arena_.text().data() + used_text_;
  std::memcpy(copy, text, kept);
  copy[kept] = 0;
  if (entry.pointer.load(std::memory_order_relaxed) == 0) ++used_entries_;
  entry.id = ++last_id_;
  entry.offset = static_cast<std::uint32_t>(used_text_);
  entry.length = static_cast<std::uint32_t>(kept);
  entry.pointer.store(pointer, std::memory_order_release);
  used_text_ += kept + 1;
  fresh_.add(entry.id, {text, length});
  return entry.id;
}

std::uint32_t LiveStrings::bytes(const void* data, std::size_t size) {
  if (!data || size == 0) return 0;
  fresh_bytes_.add(++last_id_, {static_cast<const char*>(data), size});
  return last_id_;
}

// The table is a cache: forgetting it costs sending strings again, no more.
void LiveStrings::start_over() {
  std::memset(static_cast<void*>(arena_.entries().data()), 0, arena_.entries().size_bytes());
  used_entries_ = 0;
  used_text_ = 0;
}

LeftStrings::LeftStrings(const Arena& arena) : arena_(arena) {
  for (const StringEntry& entry : arena.entries()) {
    if (entry.pointer.load(std::memory_order_relaxed) == 0) continue;
    if (entry.offset > arena.text().size() || entry.length > arena.text().size() - entry.offset) {
      continue;
    }
    fresh_.add(entry.id, {arena.text().data() + entry.offset, entry.length});
    lost_id_ = std::max(lost_id_, entry.id + 1);
  }
}

std::uint32_t LeftStrings::intern(const char* text) {
  if (!text) return 0;
  const auto entries = arena_.entries();
  const auto pointer = reinterpret_cast<std::uint64_t>(text);
  std::size_t i = place(pointer, entries.size());
  for (std::size_t tries = 0; tries < entries.size(); ++tries) {
    const std::uint64_t there = entries[i].pointer.load(std::memory_order_relaxed);
    if (there == pointer) return entries[i].id;
    if (there == 0) break;
    i = (i + 1) & (entries.size() - 1);
  }
  if (lost_++ == 0) fresh_.add(lost_id_, lost_text);
  return lost_id_;
}

}  // namespace gpuprof::collect
