#include "libprof/view/model/row.hpp"

namespace gpuprof::view {
namespace {

using Wide = unsigned __int128;

std::uint64_t distance(std::int64_t from, std::int64_t to) {
  return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
}

}  // namespace

std::uint32_t Scale::pixel(std::int64_t time) const {
  if (time <= from_) return 0;
  if (time >= to_) return width_ - 1;
  return static_cast<std::uint32_t>(Wide{distance(from_, time)} * width_ / span_);
}

std::uint32_t Scale::last_pixel(std::int64_t end) const {
  if (end <= from_) return 0;
  if (end >= to_) return width_ - 1;
  return static_cast<std::uint32_t>((Wide{distance(from_, end)} * width_ - 1) / span_);
}

std::int64_t Scale::begin_of(std::uint32_t pixel) const {
  const Wide offset = (Wide{pixel} * span_ + width_ - 1) / width_;
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(from_) +
                                   static_cast<std::uint64_t>(offset));
}

bool Scale::is_wide(std::int64_t begin, std::int64_t end) const {
  return Wide{distance(begin, end)} * width_ >= span_;
}

void MemoryRow::reserve(std::size_t records) {
  begin_.reserve(records);
  end_.reserve(records);
  id_.reserve(records);
  name_.reserve(records);
  table_.reserve(records);
}

void MemoryRow::add(const Item& item) {
  begin_.push_back(item.begin);
  end_.push_back(item.end);
  id_.push_back(item.id);
  name_.push_back(item.name);
  table_.push_back(item.table);
}

void MemoryRow::finish() {
  const auto busy_of = [&](std::size_t place) { return distance(begin_[place], end_[place]); };
  pyramid_.build(size(), busy_of,
                 [&](std::uint32_t a, std::uint32_t b) { return busy_of(b) > busy_of(a) ? b : a; });
}

TrackRow::Places TrackRow::within(std::int64_t from, std::int64_t to) const {
  const std::size_t first = first_over_after(from);
  return {first, first_from(first, to)};
}

void MemoryRow::read(std::size_t first, std::size_t end, Part& part) const {
  part.times = intervals::Columns{begin_, end_}.part(first, end - first);
  part.names = std::span(name_).subspan(first, end - first);
  part.tables = std::span(table_).subspan(first, end - first);
}

std::size_t MemoryRow::first_over_after(std::int64_t time) const {
  std::size_t low = 0, high = size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (over(begin_[middle], end_[middle]) <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t MemoryRow::first_from(std::size_t place, std::int64_t time) const {
  std::size_t step = 1, end = place;
  while (end < size() && begin_[end] < time) {
    place = end + 1;
    end = std::min(size(), end + step);
    step *= 2;
  }
  const auto found = std::lower_bound(begin_.begin() + static_cast<std::ptrdiff_t>(place),
                                      begin_.begin() + static_cast<std::ptrdiff_t>(end), time);
  return static_cast<std::size_t>(found - begin_.begin());
}

Piece MemoryRow::bucket(std::size_t first, std::size_t end) const {
  Piece piece{.first = static_cast<std::uint32_t>(first),
              .count = static_cast<std::uint32_t>(end - first),
              .longest = distance(begin_[first], end_[first]),
              .longest_place = static_cast<std::uint32_t>(first)};
  const auto busy_of = [&](std::size_t place) { return distance(begin_[place], end_[place]); };
  pyramid_.visit(first, end, busy_of, [&](std::uint32_t place, std::uint64_t busy) {
    piece.busy += busy;
    const std::uint64_t length = busy_of(place);
    // Records are not visited in order.
    if (length > piece.longest || (length == piece.longest && place < piece.longest_place)) {
      piece.longest = length;
      piece.longest_place = place;
    }
  });
  piece.longest_name = name_[piece.longest_place];
  return piece;
}

void TrackRow::draw(const Scale& scale, std::vector<Piece>& pieces) const {
  const Places places = within(scale.from(), scale.to());
  for (std::size_t i = places.first; i < places.end;) {
    const std::int64_t begins = begin(i);
    const std::uint32_t x = scale.pixel(begins);
    std::size_t behind = i + 1;
    if (!scale.is_wide(begins, end(i))) {
      behind = std::min(first_from(behind, scale.begin_of(x + 1)), places.end);
      // A record after a wide one begins in a later pixel.
      if (behind > i + 1 && scale.is_wide(begin(behind - 1), end(behind - 1))) --behind;
    }
    Piece piece = bucket(i, behind);
    piece.x = x;
    piece.x_end = std::max(x, scale.last_pixel(end(behind - 1))) + 1;
    pieces.push_back(piece);
    i = behind;
  }
}

}  // namespace gpuprof::view
