// One row of a track: records that do not overlap, and what a window of it looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libprof/base/large_vector.hpp"
#include "libprof/intervals/intervals.hpp"
#include "libprof/tracks/records.hpp"

namespace gpuprof::view {

using tracks::Item;

// Of each level of a pyramid in an entry of the level above.
constexpr std::size_t fan_out = 16;

// A window of time on a screen: pixel p has the times [from + p × span / width, …) of p and p + 1.
class Scale {
 public:
  // `to` is after `from`, `width` at least 1.
  Scale(std::int64_t from, std::int64_t to, std::uint32_t width)
      : from_(from),
        to_(to),
        width_(width),
        span_(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)) {}

  std::int64_t from() const { return from_; }
  std::int64_t to() const { return to_; }
  // Of a time in the window; before it the first, behind it the last.
  std::uint32_t pixel(std::int64_t time) const;
  // The last that something touches which ends then; it began in the window, or before it.
  std::uint32_t last_pixel(std::int64_t end) const;
  // The first time that is in this pixel or in one behind it.
  std::int64_t begin_of(std::uint32_t pixel) const;
  // It takes as long as a pixel, or longer.
  bool is_wide(std::int64_t begin, std::int64_t end) const;

 private:
  std::int64_t from_, to_;
  std::uint32_t width_;
  std::uint64_t span_;
};

// What is drawn: a record, or a bucket of records that all begin in one pixel and are each narrower
// than that. In a pixel begin at most one bucket and one wider record.
struct Piece {
  std::uint32_t x = 0, x_end = 0;  // pixels [x, x_end) are touched
  std::uint32_t first = 0;         // the record, or the first of the bucket
  std::uint32_t count = 1;         // 1: a record
  std::uint64_t busy = 0;          // ns in which one of them was open
  // Of the longest of these, the first of equal ones.
  std::uint64_t longest = 0;  // ns
  std::uint32_t longest_place = 0, longest_name = 0;
  bool operator==(const Piece&) const = default;
};

// Records of a row that lie together. Its spans are good as long as it and the row are, so it is
// not copied.
struct Part {
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  intervals::Columns times;
  std::span<const std::uint32_t> names;
  std::span<const std::uint8_t> tables;

  std::size_t size() const { return names.size(); }

  // What the spans are of where the row does not have them itself.
  std::vector<std::int64_t> begin_buffer, end_buffer;
  std::vector<std::uint32_t> name_buffer;
  std::vector<std::uint8_t> table_buffer;
};

class Row {
 public:
  virtual ~Row() = default;

  virtual std::size_t size() const = 0;
  virtual Item operator[](std::size_t place) const = 0;
  virtual std::int64_t begin(std::size_t place) const = 0;
  virtual std::int64_t end(std::size_t place) const = 0;
  virtual std::uint32_t name(std::size_t place) const = 0;

  // The records that are open in [from, to), or begin and end at one time in it: places.
  struct Places {
    std::size_t first = 0, end = 0;
  };
  Places within(std::int64_t from, std::int64_t to) const;

  // As many as lie together, from `first` on and before `end`; at least one.
  virtual void read(std::size_t first, std::size_t end, Part& part) const = 0;
  // Calls visit(part, place of its first record) for all of them, in order.
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
  // When it is over, for the order of those that take no time.
  static std::int64_t over(std::int64_t begin, std::int64_t end) {
    return begin == end ? begin + 1 : end;
  }
  // The first that is over after that time.
  virtual std::size_t first_over_after(std::int64_t time) const = 0;
  // The first from `place` on that begins at `time` or later. It is mostly near.
  virtual std::size_t first_from(std::size_t place, std::int64_t time) const = 0;
  // Of places [first, end), which are not empty; no pixels.
  virtual Piece bucket(std::size_t first, std::size_t end) const = 0;
};

// A row that is in memory: written once, then read by any thread. Memory: 30 bytes for each record.
class MemoryRow final : public Row {
 public:
  void reserve(std::size_t records);
  // Each begins when the one before is over, or later.
  void add(const Item& item);
  void finish();

  std::size_t size() const override { return begin_.size(); }
  Item operator[](std::size_t place) const override {
    return {begin_[place], end_[place], id_[place], name_[place], table_[place]};
  }
  std::int64_t begin(std::size_t place) const override { return begin_[place]; }
  std::int64_t end(std::size_t place) const override { return end_[place]; }
  std::uint32_t name(std::size_t place) const override { return name_[place]; }
  void read(std::size_t first, std::size_t end, Part& part) const override;

 private:
  std::size_t first_over_after(std::int64_t time) const override;
  std::size_t first_from(std::size_t place, std::int64_t time) const override;
  Piece bucket(std::size_t first, std::size_t end) const override;

  LargeVector<std::int64_t> begin_, end_, id_;
  LargeVector<std::uint32_t> name_;
  LargeVector<std::uint8_t> table_;
  // Of 16 records, of 16 of these, and so on: the place of the longest, and the busy time.
  struct Level {
    std::vector<std::uint32_t> longest;
    std::vector<std::uint64_t> busy;
  };
  std::vector<Level> levels_;
};

}  // namespace gpuprof::view
