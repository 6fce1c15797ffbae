// A run as tracks: what the viewer draws, and what it can be asked.
//
// Built once, then read by any thread. Times are ns on CUPTI's clock.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/store/sqlite.hpp"
#include "libprof/view/row.hpp"

namespace gpuprof::view {

class BlockFile;

using tracks::TrackKind;
std::string_view noun_of(TrackKind kind);  // "records", "calls"

// What counters that are sampled stand below.
inline constexpr std::string_view samples_group = "PM samples";

// A value over time, which holds until the next.
struct Counter {
  std::string unit;  // empty: a plain number
  std::vector<std::int64_t> time;
  std::vector<double> value;
};

struct Track {
  TrackKind kind{};
  std::vector<std::string> path;  // "NVIDIA H200 (0)", "python3 train.py [7]", "stream 7"
  std::int64_t device = -1;       // -1: of none
  std::vector<std::unique_ptr<const Row>> rows;  // of a counter none; none is empty
  Counter counter;
  std::int64_t records = 0;
  // Records that overlap with so many others that they have no row: they are counted and named.
  std::int64_t left_out = 0;
};

struct Name {
  std::string text;
  std::string label;     // shorter, where the file has one; else the text
  std::string function;  // of a kernel: without template arguments; empty: the text
};

// Of all records that are open in a window, of each the part inside it.
struct Statistics {
  struct Work {
    TrackKind kind{};
    std::uint32_t name = 0;
    std::int64_t count = 0;
    std::uint64_t time = 0;     // ns, their sum
    std::uint64_t longest = 0;  // ns
  };
  struct Device {
    std::int64_t device = 0;
    std::string name;
    // ns: any work; kernels and graphs; copies, sets and the like; both at a time; of the kernels,
    // NCCL's while nothing else ran.
    std::uint64_t busy = 0, compute = 0, copies = 0, both = 0, exposed = 0;
    std::int64_t records = 0;
  };
  std::vector<Work> work;  // most time first
  std::vector<Device> devices;
};

struct Model {
  std::vector<Track> tracks;
  std::vector<Name> names;
  std::vector<std::string> tables;  // of records
  std::vector<bool> compute;        // by table: kernels and graphs
  std::int64_t begin = 0, end = 0;  // of all that has a time; the same: nothing has one
  std::int64_t zero = 0;            // what shown times count from
  std::int64_t records = 0;
  std::int64_t without_times = 0;   // GPU work; not drawn
  bool ranges_missing = false;      // NVTX markers are there, but were never put together
  std::vector<std::string> losses;  // a sentence each
  // Of the whole run, where that is known.
  std::optional<Statistics> whole;
  std::shared_ptr<BlockFile> blocks;  // of rows that are stored; null: all are in memory
};

// A time that is not empty.
struct Window {
  std::int64_t from = 0, to = 0;

  std::uint64_t length() const { return intervals::length(from, to); }
  bool meets(std::int64_t begin, std::int64_t end) const { return end > from && begin < to; }
};
Window window_of(const Model& model);

// Out of the timeline that the file has stored, if it has one of this state, else of all records.
// With a stored one it reads the file later on, by a connection of its own: one thread at a time.
// `check` is called now and then and may throw. Memory: 30 bytes for each record, and 30 more for
// each of the largest track while it is put in order; of a stored timeline some bytes for each 400.
// `names`: of another model, which has them under the same numbers.
Model read_model(store::Database& database, const std::function<void(std::string_view)>& check,
                 std::vector<Name> names = {});

// Records in the order of begins, outer ones first, as rows. For read_model() and tests.
using Items = LargeVector<Item>;
void make_rows(Items& items, Track& track);

struct PointRange {
  std::uint32_t x = 0;
  double least = 0, most = 0, last = 0;  // of the values that begin in the pixel
};

struct Tile {
  std::vector<std::vector<Piece>> rows;
  std::vector<PointRange> points;  // of a counter
  std::optional<double> before;    // its value where the window begins
};
// `from` is before `to`, `width` at least 1.
Tile make_tile(const Track& track, std::int64_t from, std::int64_t to, std::uint32_t width);

Statistics statistics(const Model& model, std::int64_t from, std::int64_t to);

struct Place {
  std::uint32_t track = 0, row = 0, item = 0;
};

// Records by their names, see names_with(); throws what that does.
struct Found {
  std::int64_t count = 0;
  std::optional<Place> next;  // the first that begins behind `after`
  bool around = false;        // none does, so it is the first of all
};
Found search(const Model& model, std::string_view text, std::int64_t after);

// The nth record of that very name, from 1 on: of the NVTX ranges; where none has it, of the calls;
// else of the GPU work. Without a name the first GPU work.
struct Occurrence {
  std::int64_t count = 0;  // of that name
  std::optional<std::int64_t> begin;
};
Occurrence find_occurrence(const Model& model, std::string_view name, std::int64_t nth);

// GPU work by its function's name, in windows of two runs that share their names.
struct Difference {
  std::string name;
  std::int64_t count[2] = {0, 0};
  std::uint64_t time[2] = {0, 0};  // ns, their sum
};
// The greatest difference in time first.
std::vector<Difference> differences(const std::vector<Name>& names, const Statistics& first,
                                    const Statistics& second);

// nullopt: there is no such record.
std::optional<Item> item_at(const Model& model, const Place& place);

// What the file says of a record: names and values, for people.
struct Detail {
  std::string name, value;
};
struct Section {
  std::string title;
  std::vector<Detail> rows;
};

}  // namespace gpuprof::view
