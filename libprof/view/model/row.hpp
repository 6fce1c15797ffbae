// One row of a track: records that do not overlap, and how they are drawn in a window.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "libprof/compute/intervals/intervals.hpp"
#include "libprof/view/model/record_columns.hpp"

namespace gpuprof::view {

// Entries of one pyramid level per entry of the next.
constexpr std::size_t fan_out = 16;

// A time window on screen: pixel p covers the times [from + p × span / width, …) up to those of p +
// 1.
class Scale {
 public:
  // Requires `to` > `from` and `width` >= 1.
  Scale(std::int64_t from, std::int64_t to, std::uint32_t width)
      : from_(from),
        to_(to),
        width_(width),
        span_(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) {}

  std::int64_t from() const { return from_; }
  std::int64_t to() const { return to_; }
  // The pixel of a time; times outside the window are clamped to the first or last pixel.
  std::uint32_t pixel(std::int64_t time) const;
  // The last pixel touched by something that ends then and began in or before the window.
  std::uint32_t last_pixel(std::int64_t end) const;
  // The first time in this pixel or a later one.
  std::int64_t begin_of(std::uint32_t pixel) const;
  // Whether it lasts at least one pixel.
  bool is_wide(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t from_, to_;
  std::uint32_t width_;
  std::uint64_t span_;
};

// Something drawn: a record, or a bucket of records that all begin in one pixel and are each
// narrower than a pixel. At most one bucket and one wider record begin in a pixel.
struct Piece {
  std::uint32_t x = 0, x_end = 0;  // pixels [x, x_end) are touched
  std::uint32_t first = 0;         // index of the record, or of the bucket's first
  std::uint32_t count = 1;         // 1: a record
  std::uint64_t busy = 0;          // ns during which one of them was open
  // Of the longest record; on ties, of the first.
  std::uint64_t longest = 0;  // ns
  std::uint32_t longest_place = 0, longest_name = 0;
  bool operator==(const Piece&) const = default;
};

// Consecutive records of a row. Its spans are valid as long as the row and this object exist, so it
// cannot be copied.
struct Part {
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  intervals::Columns times;
  std::span<const std::uint32_t> names;
  std::span<const std::uint8_t> tables;

  std::size_t size() const { return names.size(); }

  // Backing storage of the spans if the row has none.
  std::vector<std::int64_t> begin_buffer, end_buffer;
  std::vector<std::uint32_t> name_buffer;
  std::vector<std::uint8_t> table_buffer;
};

class TrackRow {
 public:
  virtual ~TrackRow() = default;

  virtual std::size_t size() const = 0;
  virtual Item operator[](std::size_t place) const = 0;
  virtual std::int64_t begin(std::size_t place) const = 0;
  virtual std::int64_t end(std::size_t place) const = 0;
  virtual std::uint32_t name(std::size_t place) const = 0;

  // Indices of the records that are open in [from, to), or begin and end at one time in it.
  struct Places {
    std::size_t first = 0, end = 0;
  };
  Places within(std::int64_t from, std::int64_t to) const;

  // Reads consecutive records from `first`, before `end`; at least one, possibly fewer than all.
  virtual void read(std::size_t first, std::size_t end, Part& part) const = 0;
  // Calls visit(part, index of its first record) for all of them, in order.
  template <class Visit>
  void visit(Places places, const Visit& visit) const {
    Part part;
    for (std::size_t at = places.first; at < places.end; at += part.size()) {
      read(at, places.end, part);
      visit(part, at);
    }
  }

  void draw(const Scale& scale, std::vector<Piece>& pieces) const;

 protected:
  // The effective end, which orders records of zero length.
  static std::int64_t over(std::int64_t begin, std::int64_t end) {
    return begin == end ? begin + 1 : end;
  }
  // The first record that is over after that time.
  virtual std::size_t first_over_after(std::int64_t time) const = 0;
  // The first record from `place` on that begins at `time` or later; usually near.
  virtual std::size_t first_from(std::size_t place, std::int64_t time) const = 0;
  // Summarizes records [first, end), which must not be empty; leaves the pixels unset.
  virtual Piece bucket(std::size_t first, std::size_t end) const = 0;
};

// Per 16 entries, per 16 of those, and so on: the longest of them, as an index of an entry, and the
// busy time.
class Pyramid {
 public:
  // busy_of(entry); longer(a, b): the longer one of two entries, `a` if they are alike.
  template <class BusyOf, class Longer>
  void build(std::size_t entries, const BusyOf& busy_of, const Longer& longer) {
    for (std::size_t below = entries; below > fan_out; below = levels_.back().busy.size()) {
      Level level;
      level.longest.reserve((below + fan_out - 1) / fan_out);
      level.busy.reserve((below + fan_out - 1) / fan_out);
      for (std::size_t first = 0; first < below; first += fan_out) {
        std::uint32_t longest = 0;
        std::uint64_t busy = 0;
        for (std::size_t i = first; i < std::min(first + fan_out, below); ++i) {
          const bool lowest = levels_.empty();
          const auto entry = lowest ? static_cast<std::uint32_t>(i) : levels_.back().longest[i];
          longest = i == first ? entry : longer(longest, entry);
          busy += lowest ? busy_of(i) : levels_.back().busy[i];
        }
        level.longest.push_back(longest);
        level.busy.push_back(busy);
      }
      levels_.push_back(std::move(level));
    }
  }

  // Calls take(entry, busy time) for what the entries [first, end) consist of, in any order: the
  // longest entry of each part and the part's busy time.
  template <class BusyOf, class Take>
  void visit(std::size_t first, std::size_t end, const BusyOf& busy_of, const Take& take) const {
    const auto take_one = [&](std::size_t level, std::size_t i) {
      level == 0 ? take(static_cast<std::uint32_t>(i), busy_of(i))
                 : take(levels_[level - 1].longest[i], levels_[level - 1].busy[i]);
    };
    for (std::size_t level = 0; first < end; ++level) {
      if (level == levels_.size()) {
        for (; first < end; ++first) take_one(level, first);
        break;
      }
      for (; first < end && first % fan_out != 0; ++first) take_one(level, first);
      for (; first < end && end % fan_out != 0; --end) take_one(level, end - 1);
      first /= fan_out;
      end /= fan_out;
    }
  }

 private:
  struct Level {
    std::vector<std::uint32_t> longest;
    std::vector<std::uint64_t> busy;
  };
  std::vector<Level> levels_;
};

// A row in memory, for any thread.
class MemoryRow final : public TrackRow {
 public:
  // The records are in order, each beginning when the one before is over, or later.
  explicit MemoryRow(RecordColumns records);

  std::size_t size() const override { return records_.size(); }
  Item operator[](std::size_t place) const override { return records_[place]; }
  std::int64_t begin(std::size_t place) const override { return records_.begin(place); }
  std::int64_t end(std::size_t place) const override { return records_.end(place); }
  std::uint32_t name(std::size_t place) const override { return records_.name(place); }
  void read(std::size_t first, std::size_t end, Part& part) const override;

 private:
  std::size_t first_over_after(std::int64_t time) const override;
  std::size_t first_from(std::size_t place, std::int64_t time) const override;
  Piece bucket(std::size_t first, std::size_t end) const override;

  RecordColumns records_;
  Pyramid pyramid_;  // of the records
};

}  // namespace gpuprof::view
