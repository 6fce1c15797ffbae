#include "libprof/view/model/record_columns.hpp"

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

namespace gpuprof::view {
namespace {

constexpr std::size_t first_capacity = 64, growth = 8, last_capacity = 32768;
constexpr std::size_t most_ready = 2;
constexpr std::size_t most_moves = 4;  // per record; sorting all at the end is faster than more
constexpr std::size_t record_bytes = sizeof(std::int64_t) + 3 * sizeof(std::uint32_t) + 1;
constexpr std::size_t huge = std::size_t{4} << 20;  // LargePages takes huge pages
static_assert(Slab::most * record_bytes <= huge);

std::size_t bytes_of(std::size_t records) {
  return records == Slab::most ? huge : records * record_bytes;
}

}  // namespace

Slab::Slab(std::size_t records)
    : capacity(records),
      memory_(LargePages<std::byte>().allocate(bytes_of(records)), Free{bytes_of(records)}) {
  begin = reinterpret_cast<std::int64_t*>(memory_.get());
  length = reinterpret_cast<std::uint32_t*>(begin + records);
  id = length + records;
  name = id + records;
  table = reinterpret_cast<std::uint8_t*>(name + records);
}

Slabs::~Slabs() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  taken_.notify_all();
  thread_.join();
}

Slab Slabs::take() {
  std::unique_lock lock(mutex_);
  if (ahead_ && !thread_.joinable()) {
    try {
      thread_ = std::thread([this] { run(); });
    } catch (const std::system_error&) {
      // Who uses the memory touches it first.
    }
  }
  if (ready_.empty()) {
    lock.unlock();
    return Slab(Slab::most);
  }
  Slab slab = std::move(ready_.back());
  ready_.pop_back();
  taken_.notify_all();
  return slab;
}

void Slabs::give(Slab slab) {
  const std::lock_guard lock(mutex_);
  ready_.push_back(std::move(slab));
}

void Slabs::run() {
  constexpr std::size_t page = 4096;
  std::unique_lock lock(mutex_);
  while (true) {
    taken_.wait(lock, [this] { return is_over_ || ready_.size() < most_ready; });
    if (is_over_) return;
    lock.unlock();
    try {
      Slab slab(Slab::most);
      volatile auto* const bytes = reinterpret_cast<unsigned char*>(slab.begin);
      for (std::size_t at = 0; at < huge; at += page) bytes[at] = 0;
      lock.lock();
      ready_.push_back(std::move(slab));
    } catch (const std::bad_alloc&) {
      return;
    }
  }
}

Slab RecordColumns::take_slab() {
  return slabs_to_take_ ? slabs_to_take_->take() : Slab(Slab::most);
}

void RecordColumns::grow() {
  if (size_ % Slab::most != 0) {  // the only slab so far, and small
    const Slab small = std::move(slabs_.back());
    slabs_.back() = small.capacity < last_capacity ? Slab(growth * small.capacity) : take_slab();
    const Slab& large = slabs_.back();
    std::copy_n(small.begin, size_, large.begin);
    std::copy_n(small.length, size_, large.length);
    std::copy_n(small.id, size_, large.id);
    std::copy_n(small.name, size_, large.name);
    std::copy_n(small.table, size_, large.table);
  } else {
    slabs_.push_back(slabs_.empty() ? Slab(first_capacity) : take_slab());
  }
  used_ = size_ % Slab::most;
  room_ = slabs_.back().capacity;
}

// Moves the latest record to where it belongs, which is usually near: the others are in cache.
void RecordColumns::move_late(const StartAndEnd& times_of_it) {
  if (!sorted_) return;
  const std::size_t at = size_ - 1;
  std::size_t low = 0, high = at, step = 1;  // its place is in [low, high]
  while (step <= high && times_of_it.is_before(times(high - step))) {
    high -= step;
    step *= 2;
  }
  if (step <= high) low = high - step + 1;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (times_of_it.is_before(times(middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  moves_ += at - low;
  sorted_ = moves_ <= most_moves * (size_ + last_capacity);
  if (!sorted_) return;
  const Narrow its = get(at);
  for (std::size_t i = at; i > low; --i) put(i, get(i - 1));
  put(low, its);
}

void RecordColumns::sort() {
  if (std::exchange(sorted_, true)) return;
  LargeVector<Item> items;
  items.reserve(size_);
  for (std::size_t i = 0; i < size_; ++i) items.push_back((*this)[i]);
  std::ranges::stable_sort(items, [](const Item& a, const Item& b) {
    return StartAndEnd{a.begin, a.end}.is_before({b.begin, b.end});
  });
  wide_.clear();
  for (std::size_t i = 0; i < size_; ++i) put(i, narrowed(items[i]));
}

void RecordColumns::rename(std::span<const std::uint32_t> names) {
  for (std::size_t first = 0; first < size_; first += Slab::most) {
    std::uint32_t* const name = slab_of(first).name;
    const std::size_t count = std::min(size_ - first, Slab::most);
    for (std::size_t i = 0; i < count; ++i) name[i] = names[name[i]];
  }
}

void RecordColumns::read_ends(std::size_t first, std::span<std::int64_t> ends) const {
  const std::size_t at = first % Slab::most;
  const std::int64_t* const begin = slab_of(first).begin + at;
  const std::uint32_t* const length = slab_of(first).length + at;
  for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = after(begin[i], length[i]);
  if (wide_.empty()) return;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (length[i] == wide) ends[i] = end(first + i);
  }
}

}  // namespace gpuprof::view
