#include "libprof/view/model/row.hpp"

#include "libprof/compute/intervals/merged.hpp"

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

MemoryRow::MemoryRow(RecordColumns records) : records_(std::move(records)) {
  pyramid_.build(
      size(), [&](std::size_t place) { return records_.length(place); },
      [&](std::uint32_t a, std::uint32_t b) {
        return records_.length(b) > records_.length(a) ? b : a;
      });
}

TrackRow::Places TrackRow::within(std::int64_t from, std::int64_t to) const {
  const std::size_t first = first_over_after(from);
  return {first, first_from(first, to)};
}

void MemoryRow::read(std::size_t first, std::size_t end, Part& part) const {
  const Slab& slab = records_.slab_of(first);
  const std::size_t at = first % Slab::most,
                    count = std::min({end - first, Slab::most - at, intervals::chunk_size});
  part.end_buffer.resize(count);
  records_.read_ends(first, part.end_buffer);
  part.times = {std::span(slab.begin + at, count), part.end_buffer};
  part.names = std::span(slab.name + at, count);
  part.tables = std::span(slab.table + at, count);
}

std::size_t MemoryRow::first_over_after(std::int64_t time) const {
  std::size_t low = 0, high = size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (over(begin(middle), end(middle)) <= time) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

std::size_t MemoryRow::first_from(std::size_t place, std::int64_t time) const {
  std::size_t step = 1, high = place;
  while (high < size() && begin(high) < time) {
    place = high + 1;
    high = std::min(size(), high + step);
    step *= 2;
  }
  while (place < high) {
    const std::size_t middle = place + (high - place) / 2;
    if (begin(middle) < time) {
      place = middle + 1;
    } else {
      high = middle;
    }
  }
  return place;
}

Piece MemoryRow::bucket(std::size_t first, std::size_t end) const {
  Piece piece{.first = static_cast<std::uint32_t>(first),
              .count = static_cast<std::uint32_t>(end - first),
              .longest = records_.length(first),
              .longest_place = static_cast<std::uint32_t>(first)};
  const auto busy_of = [&](std::size_t place) { return records_.length(place); };
  pyramid_.visit(first, end, busy_of, [&](std::uint32_t place, std::uint64_t busy) {
    piece.busy += busy;
    const std::uint64_t length = records_.length(place);
    // Records are not visited in order.
    if (length > piece.longest || (length == piece.longest && place < piece.longest_place)) {
      piece.longest = length;
      piece.longest_place = place;
    }
  });
  piece.longest_name = name(piece.longest_place);
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
