// Which records a timeline draws, and which track each belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/read/columns/reader.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::timeline {

// The kinds of records, in the order in which tracks are shown.
enum class TrackKind { stream, range_on_gpu, counter, range, api, synchronization, overhead };
std::string_view name_of(TrackKind kind);  // "stream"
bool read_kind(std::string_view name, TrackKind& kind);

// Identifies a track among those of its kind. Streams: device, process, context, stream. Ranges on
// the GPU: device, process, thread. Others: process and, where relevant, thread and domain.
using TrackKey = std::array<std::int64_t, 4>;
// Called for each record, hence branch-free.
inline bool same_track(const TrackKey& a, const TrackKey& b) {
  return ((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3])) == 0;
}

// A table whose rows are drawn, and its columns.
struct RecordTable {
  TrackKind kind{};
  std::string name;
  std::string from = {};  // SQL for the rows, if not just the table
  std::string begin = "start", end = "end", id = "_id_";
  std::string named_by = {};          // empty: the name is always 0
  std::vector<std::string> key = {};  // of the track
  bool computes = false;              // kernels and graphs
  bool may_be_open = false;           // rows without end extend to the end of the run
};

// The columns read of a record: begin, end, id, those of the key, and named_by if there is one.
std::vector<std::string> columns_of(const RecordTable& table);
// The same as a SELECT without order. Records without end extend to `open_until`.
std::string select(const RecordTable& table, std::int64_t open_until);

// The tables in the main database, in the order used for equal times.
std::vector<RecordTable> record_tables(store::Database& database);

// Whether the times can be drawn. GPU work without duration is not drawn.
inline bool has_times(TrackKind kind, std::int64_t begin, std::int64_t end) {
  return begin > 0 && end >= begin && end < INT64_MAX &&
         !(kind == TrackKind::stream && begin == end);
}

// A record in a track.
struct Item {
  std::int64_t begin = 0, end = 0;  // ns on CUPTI's clock; begin <= end
  std::int64_t id = 0;              // of the row in its table
  std::uint32_t name = 0;           // index in a list of names
  std::uint8_t table = 0;           // index in a list of tables
};

// Limit on rows: each record that overlaps with those above it needs a further one.
inline constexpr std::size_t most_rows = 128;
// Further tracks, as only forged files have, are not created.
inline constexpr std::size_t most_tracks = 1024;

// Chooses the row for each record of a track, in begin order: the first free one.
class RowChoice {
 public:
  static constexpr std::size_t none = most_rows;

  std::size_t choose(std::int64_t begin, std::int64_t end) {
    std::size_t row = 0;
    while (row < ends_.size() && ends_[row] > begin) ++row;
    if (row == most_rows) return none;
    if (row == ends_.size()) ends_.push_back(0);
    ends_[row] = end;
    return row;
  }

 private:
  std::vector<std::int64_t> ends_;
};

}  // namespace gpuprof::timeline
