#include "libprof/collect/strings.hpp"

#include <algorithm>
#include <cstring>

#include "libprof/wire/format.hpp"

namespace gpuprof::collect {
namespace {

// Of the texts whose ids are remembered; more are sent again.
constexpr std::size_t most_text_bytes = 8 << 20;

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

std::uint32_t Strings::intern_text(std::string_view text) {
  if (const auto known = texts_.find(text); known != texts_.end()) return known->second;
  const std::uint32_t id = add(text);
  texts_.emplace(text, id);
  texts_bytes_ += text.size();
  if (texts_bytes_ > most_text_bytes) forget_texts();
  return id;
}

// They get other ids when they come again.
void Strings::forget_texts() {
  texts_.clear();
  texts_bytes_ = 0;
}

std::uint32_t Strings::bytes(const void* data, std::size_t size) {
  if (!data || size == 0) return 0;
  fresh_bytes_.add(++last_bytes_id_, {static_cast<const char*>(data), size});
  return last_bytes_id_;
}

std::uint32_t LiveStrings::add(std::string_view text) {
  fresh_.add(++last_id_, text);
  return last_id_;
}

std::uint32_t LiveStrings::intern(const char* text) {
  if (!text) return 0;
  const auto pointer = reinterpret_cast<std::uint64_t>(text);
  StringEntry* entry = table_.find(pointer);
  if (entry && table_.reads(*entry, text)) return entry->id;
  const std::size_t length = std::strlen(text);
  const std::size_t kept = std::min<std::size_t>(length, table_.text.size() / 4);
  if (!entry || used_entries_ + 1 > table_.entries.size() / 2 ||
      used_text_ + kept + 1 > table_.text.size()) {
    start_over();
    entry = table_.find(pointer);
  }
  if (entry->pointer.load(std::memory_order_relaxed) == 0) ++used_entries_;
  entry->id = ++last_id_;
  table_.put(*entry, {text, kept}, used_text_);
  used_text_ += kept + 1;
  fresh_.add(entry->id, {text, length});
  return entry->id;
}

void LiveStrings::clear() {
  Strings::clear();
  if (last_id_ < most_ids) return;
  start_over();
  forget_texts();
  last_id_ = 0;
}

// The table is a cache: clearing it only costs sending strings again.
void LiveStrings::start_over() {
  std::memset(static_cast<void*>(table_.entries.data()), 0, table_.entries.size_bytes());
  used_entries_ = 0;
  used_text_ = 0;
}

void LaunchNames::note(const char* name, std::uint32_t correlation_id) {
  const StringEntry* entry = table_.find(reinterpret_cast<std::uint64_t>(name));
  if (!entry || !table_.reads(*entry, name)) entry = add(name);
  if (!entry) return;  // full: further launches have no name if the target dies
  const auto place = static_cast<std::uint64_t>(entry - table_.entries.data()) + 1;
  launches_[correlation_id & (launches_.size() - 1)].store(place << 32 | correlation_id,
                                                           std::memory_order_relaxed);
}

void LaunchNames::start_over() {
  const std::lock_guard lock(adding_);
  used_entries_ = 0;
  used_text_ = 0;
}

const StringEntry* LaunchNames::add(const char* name) {
  const std::lock_guard lock(adding_);
  StringEntry* entry = table_.find(reinterpret_cast<std::uint64_t>(name));
  if (!entry) return nullptr;
  if (table_.reads(*entry, name)) return entry;  // another thread was first
  const std::size_t length = std::strlen(name);
  if (used_text_ + length + 1 > table_.text.size()) return nullptr;
  const bool fresh = entry->pointer.load(std::memory_order_relaxed) == 0;
  if (fresh && used_entries_ + 1 > table_.entries.size() / 2) return nullptr;
  table_.put(*entry, {name, length}, used_text_);
  used_text_ += length + 1;
  used_entries_ += fresh;
  return entry;
}

LeftStrings::LeftStrings(const Arena& arena)
    : table_(arena.strings()),
      launch_names_(arena.launch_names()),
      launches_(arena.launches()),
      left_out_(table_.entries.size()),
      names_room_(launch_names_.text.size()) {
  std::size_t room = table_.text.size();
  for (std::size_t i = 0; i < table_.entries.size(); ++i) {
    const StringEntry& entry = table_.entries[i];
    if (entry.pointer.load(std::memory_order_relaxed) == 0 || !wire::is_string_id(entry.id)) {
      continue;
    }
    const std::string_view text = table_.text_of(entry);
    if (!take(text, room)) {
      left_out_[i] = true;
      continue;
    }
    fresh_.add(entry.id, text);
    last_id_ = std::max(last_id_, entry.id);
  }
}

bool LeftStrings::take(std::string_view text, std::size_t& room) {
  if (text.size() >= room) return false;
  room -= text.size() + 1;
  return true;
}

const StringEntry* LeftStrings::left(const char* text) const {
  const auto pointer = reinterpret_cast<std::uint64_t>(text);
  const StringEntry* entry = table_.find(pointer);
  const bool there = text && entry && entry->pointer.load(std::memory_order_relaxed) == pointer &&
                     wire::is_string_id(entry->id) &&
                     !left_out_[static_cast<std::size_t>(entry - table_.entries.data())];
  return there ? entry : nullptr;
}

std::uint32_t LeftStrings::intern(const char* text) {
  if (!text) return 0;
  if (const StringEntry* entry = left(text)) return entry->id;
  const auto learned = learned_.find(reinterpret_cast<std::uint64_t>(text));
  if (learned != learned_.end()) return learned->second;
  if (lost_++ == 0) lost_id_ = add(lost_text);
  return lost_id_;
}

bool LeftStrings::reads(const char* text, std::string_view what) const {
  const StringEntry* entry = left(text);
  return entry && table_.text_of(*entry) == what;
}

void LeftStrings::learn(const char* pointer, std::uint32_t correlation_id) {
  const auto key = reinterpret_cast<std::uint64_t>(pointer);
  if (!pointer || learned_.contains(key) || left(pointer)) return;
  const std::uint64_t launch =
      launches_[correlation_id & (launches_.size() - 1)].load(std::memory_order_relaxed);
  const std::uint64_t place = launch >> 32;
  if (static_cast<std::uint32_t>(launch) != correlation_id || place == 0 ||
      place > launch_names_.entries.size()) {
    return;
  }
  const StringEntry& entry = launch_names_.entries[place - 1];
  auto [id, is_new] = name_ids_.try_emplace(&entry);
  if (is_new) {
    const std::string_view name = launch_names_.text_of(entry);
    if (!name.empty() && take(name, names_room_)) id->second = add(name);
  }
  if (id->second) learned_[key] = id->second;
}

std::uint32_t LeftStrings::add(std::string_view text) {
  if (!wire::is_string_id(last_id_ + 1)) return 0;
  fresh_.add(++last_id_, text);
  return last_id_;
}

}  // namespace gpuprof::collect
