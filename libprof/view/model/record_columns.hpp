// Records of a track as columns, which are narrow and grow without being copied: clearing fresh
// memory takes the kernel longer than filling it takes us.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "libprof/base/large_vector.hpp"
#include "libprof/compute/timeline/records.hpp"

namespace gpuprof::view {

using timeline::Item;

// The order of a track: by begin, outer records first.
struct StartAndEnd {
  std::int64_t begin = 0, end = 0;

  bool is_before(const StartAndEnd& other) const {
    return begin != other.begin ? begin < other.begin : end > other.end;
  }
  std::uint64_t length() const {
    return static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  }
};

// A part of the columns.
class Slab {
 public:
  static constexpr std::size_t most = 199'680;  // records; that many take 4 MiB of huge pages

  explicit Slab(std::size_t capacity);

  std::int64_t* begin = nullptr;
  std::uint32_t *length = nullptr, *id = nullptr, *name = nullptr;  // see RecordColumns::Wide
  std::uint8_t* table = nullptr;
  std::size_t capacity = 0;

 private:
  struct Free {
    std::size_t bytes;
    void operator()(std::byte* memory) const { LargePages<std::byte>().deallocate(memory, bytes); }
  };
  std::unique_ptr<std::byte, Free> memory_;
};

// Full slabs. `ahead`: from the first one on another thread touches the memory of the next ones, so
// that the kernel has cleared it when it is used. Used by any thread.
class Slabs {
 public:
  explicit Slabs(bool ahead) : ahead_(ahead) {}
  ~Slabs();
  Slabs(const Slabs&) = delete;
  Slabs& operator=(const Slabs&) = delete;

  Slab take();
  void give(Slab slab);

 private:
  void run();

  const bool ahead_;
  std::mutex mutex_;
  std::condition_variable taken_;
  std::vector<Slab> ready_;
  bool is_over_ = false;
  std::thread thread_;
};

// Memory: 21 bytes per record, 37 of those that last for 4 seconds. Belongs to one thread while it
// grows.
class RecordColumns {
 public:
  // `slabs` must outlive its growth. Null: it allocates its own.
  explicit RecordColumns(Slabs* slabs = nullptr) : slabs_to_take_(slabs) {}

  void add(const Item& item) {
    if (used_ == room_) grow();
    const StartAndEnd times{item.begin, item.end};
    put(slabs_.back(), used_++, narrowed(item));
    ++size_;
    if (times.is_before(latest_)) return move_late(times);
    latest_ = times;
  }
  // For records added in another order than that of a track; those of equal times keep theirs.
  // Costs nothing if they were nearly in order.
  void sort();
  // Replaces each name by the one with that index.
  void rename(std::span<const std::uint32_t> names);

  std::size_t size() const { return size_; }
  Item operator[](std::size_t place) const {
    const Narrow its = get(place);
    const Item item{its.begin, after(its.begin, its.length), its.id, its.name, its.table};
    return its.length == wide ? with(item, wide_[its.id]) : item;
  }
  std::int64_t begin(std::size_t place) const { return slab_of(place).begin[place % Slab::most]; }
  std::int64_t end(std::size_t place) const { return times(place).end; }
  std::uint32_t name(std::size_t place) const { return slab_of(place).name[place % Slab::most]; }
  StartAndEnd times(std::size_t place) const { return times(slab_of(place), place % Slab::most); }
  // Of the record at that place of a slab.
  StartAndEnd times(const Slab& slab, std::size_t at) const {
    const std::uint32_t length = slab.length[at];
    return {slab.begin[at],
            length == wide ? wide_[slab.id[at]].end : after(slab.begin[at], length)};
  }
  std::uint64_t length(std::size_t place) const {
    const Slab& slab = slab_of(place);
    const std::size_t at = place % Slab::most;
    return slab.length[at] == wide ? times(slab, at).length() : slab.length[at];
  }
  // The ends of consecutive records of one slab.
  void read_ends(std::size_t first, std::span<std::int64_t> ends) const;

  const Slab& slab_of(std::size_t place) const { return slabs_[place / Slab::most]; }
  // The memory of the records [place - place % Slab::most, …), which cannot be used any more.
  Slab take_slab_of(std::size_t place) { return std::move(slabs_[place / Slab::most]); }

 private:
  // What does not fit into 32 bits. Such a record has `wide` as its length, and its place in wide_
  // as its id.
  struct Wide {
    std::int64_t end = 0, id = 0;
  };
  static constexpr std::uint32_t wide = UINT32_MAX;
  // A record as the columns have it.
  struct Narrow {
    std::int64_t begin = 0;
    std::uint32_t length = 0, id = 0, name = 0;
    std::uint8_t table = 0;
  };

  // Wraps around for what is wide.
  static std::int64_t after(std::int64_t begin, std::uint32_t length) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + length);
  }
  static Item with(Item item, const Wide& its) {
    item.end = its.end;
    item.id = its.id;
    return item;
  }
  Narrow narrowed(const Item& item) {
    const std::uint64_t length = StartAndEnd{item.begin, item.end}.length();
    Narrow its{.begin = item.begin, .name = item.name, .table = item.table};
    if (length < wide && item.id >= 0 && item.id <= UINT32_MAX) {
      its.length = static_cast<std::uint32_t>(length);
      its.id = static_cast<std::uint32_t>(item.id);
    } else {
      its.length = wide;
      its.id = static_cast<std::uint32_t>(wide_.size());
      wide_.push_back({item.end, item.id});
    }
    return its;
  }
  Narrow get(std::size_t place) const {
    const Slab& slab = slab_of(place);
    const std::size_t at = place % Slab::most;
    return {slab.begin[at], slab.length[at], slab.id[at], slab.name[at], slab.table[at]};
  }
  static void put(const Slab& slab, std::size_t at, const Narrow& its) {
    slab.begin[at] = its.begin;
    slab.length[at] = its.length;
    slab.id[at] = its.id;
    slab.name[at] = its.name;
    slab.table[at] = its.table;
  }
  void put(std::size_t place, const Narrow& its) { put(slab_of(place), place % Slab::most, its); }
  Slab take_slab();
  void grow();
  void move_late(const StartAndEnd& times_of_it);

  std::vector<Slab> slabs_;  // all but the last are full
  std::size_t size_ = 0;
  std::size_t used_ = 0, room_ = 0;  // of the last slab
  StartAndEnd latest_{INT64_MIN, INT64_MAX};
  bool sorted_ = true;
  std::size_t moves_ = 0;  // of records, for those that came late
  std::vector<Wide> wide_;
  Slabs* slabs_to_take_;
};

}  // namespace gpuprof::view
