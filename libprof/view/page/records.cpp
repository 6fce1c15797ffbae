#include "libprof/view/page/records.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "libprof/base/saturating.hpp"

namespace gpuprof::view {
namespace {

class Writer {
 public:
  explicit Writer(Packed& packed) : packed_(packed) {}
  ~Writer() { packed_.add(bytes_); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  void number(std::uint64_t value) {
    for (; value >= 128; value >>= 7) bytes_ += static_cast<char>((value & 127) | 128);
    bytes_ += static_cast<char>(value);
    if (bytes_.size() >= 1 << 16) {
      packed_.add(bytes_);
      bytes_.clear();
    }
  }
  void signed_number(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value) << 1;
    number(value < 0 ? ~bits : bits);
  }
  void real(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>(bits >> shift & 255);
  }

 private:
  Packed& packed_;
  std::string bytes_;
};

void write_row(Writer& writer, const TrackRow& row, std::int64_t from, std::int64_t to,
               std::vector<bool>& names) {
  const auto [first, end] = row.within(from, to);
  writer.number(end - first);
  if (first == end) return;
  writer.number(first);
  writer.signed_number(saturating_subtract(row.begin(first), from));
  for (std::size_t i = first + 1; i < end; ++i) {
    writer.number(intervals::length(row.end(i - 1), row.begin(i)));
  }
  for (std::size_t i = first; i < end; ++i) {
    writer.number(intervals::length(row.begin(i), row.end(i)));
  }
  for (std::size_t i = first; i < end; ++i) {
    writer.number(row.name(i));
    names[row.name(i)] = true;
  }
}

void write_counter(Writer& writer, const Counter& counter, std::int64_t from, std::int64_t to) {
  auto first = std::ranges::lower_bound(counter.time, from);
  const auto end = std::lower_bound(first, counter.time.end(), to);
  if (first != counter.time.begin()) --first;
  writer.number(static_cast<std::uint64_t>(end - first));
  for (auto at = first; at != end; ++at) {
    if (at == first) {
      writer.signed_number(saturating_subtract(*at, from));
    } else {
      writer.number(intervals::length(*(at - 1), *at));
    }
  }
  for (auto at = first; at != end; ++at) {
    writer.real(counter.value[static_cast<std::size_t>(at - counter.time.begin())]);
  }
}

}  // namespace

void pack_records(const Model& model, std::span<const std::uint32_t> tracks, std::int64_t from,
                  std::int64_t to, Packed& packed, std::vector<bool>& names) {
  Writer writer(packed);
  writer.number(tracks.size());
  for (const std::uint32_t number : tracks) {
    const Track& track = model.tracks[number];
    writer.number(number);
    writer.number(track.rows.size());
    for (const auto& row : track.rows) write_row(writer, *row, from, to, names);
    write_counter(writer, track.counter, from, to);
  }
}

}  // namespace gpuprof::view
