// One row of a track: records that do not overlap, and what a window of it looks like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "libprof/intervals/intervals.hpp"

namespace gpuprof::view {

// A record as a track has it.
struct Item {
  std::int64_t begin = 0, end = 0;  // ns on CUPTI's clock; end is not before begin
  std::int64_t id = 0;              // of the row in its table
  std::uint32_t name = 0;           // place in Model::names
  std::uint8_t table = 0;           // place in Model::tables
};

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
  std::uint32_t longest = 0;       // of these
  std::uint64_t busy = 0;          // ns in which one of them was open
  bool operator==(const Piece&) const = default;
};

// Written once, then read by any thread. Memory: 30 bytes for each record.
class Row {
 public:
  // Each begins when the one before is over, or later.
  void add(const Item& item);
  void finish();

  std::size_t size() const { return begin_.size(); }
  Item operator[](std::size_t place) const {
    return {begin_[place], end_[place], id_[place], name_[place], table_[place]};
  }
  std::int64_t begin(std::size_t place) const { return begin_[place]; }
  std::int64_t end(std::size_t place) const { return end_[place]; }
  std::uint32_t name(std::size_t place) const { return name_[place]; }
  std::span<const std::uint32_t> names() const { return name_; }
  bool ends_by(std::int64_t time) const { return end_.empty() || end_.back() <= time; }

  // The records that are open in [from, to), or begin and end at one time in it: places.
  struct Places {
    std::size_t first = 0, end = 0;
  };
  Places within(std::int64_t from, std::int64_t to) const;
  intervals::Columns columns(Places places) const {
    return intervals::Columns{begin_, end_}.part(places.first, places.end - places.first);
  }

  void draw(const Scale& scale, std::vector<Piece>& pieces) const;

 private:
  std::size_t first_from(std::size_t place, std::int64_t time) const;
  Piece bucket(std::size_t first, std::size_t end) const;

  std::vector<std::int64_t> begin_, end_, id_;
  std::vector<std::uint32_t> name_;
  std::vector<std::uint8_t> table_;
  // Of 16 records, of 16 of these, and so on: the place of the longest, and the busy time.
  struct Level {
    std::vector<std::uint32_t> longest;
    std::vector<std::uint64_t> busy;
  };
  std::vector<Level> levels_;
};

}  // namespace gpuprof::view
