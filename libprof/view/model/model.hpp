// A run as tracks: what the viewer draws, and the queries on it.
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

#include "libprof/report/account.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/view/model/row.hpp"

namespace gpuprof::view {

class BlockFile;

using timeline::TrackKind;
std::string_view noun_of(TrackKind kind);  // "records", "calls"

// The group of sampled counters.
inline constexpr std::string_view samples_group = "PM samples";

// A value over time; each value holds until the next.
struct Counter {
  std::string unit;  // empty: a plain number
  std::vector<std::int64_t> time;
  std::vector<double> value;
};

struct Track {
  TrackKind kind{};
  std::vector<std::string> path;  // "NVIDIA H200 (0)", "python3 train.py [7]", "stream 7"
  std::int64_t device = -1;       // -1: none
  std::vector<std::shared_ptr<const TrackRow>> rows;  // empty for a counter; no row is empty
  Counter counter;
  std::int64_t records = 0;
  // Records without a row, since they overlap too many others: counted and named only.
  std::int64_t left_out = 0;
};

struct Name {
  std::string text;
  std::string label;     // the file's short form if there is one, else the text
  std::string function;  // for a kernel: without template arguments; empty: the text
  std::optional<bool> communicates = {};  // a kernel; nullopt: its name says it
};
// A kernel that waits for other GPUs.
bool communicates(const Name& name);
// As GPU work, see read/palette.hpp. What is no GPU work uses only that it differs by name.
std::string color_of(const Name& name);

// A non-empty time interval.
struct Window {
  std::int64_t from = 0, to = 0;

  std::uint64_t length() const { return intervals::length(from, to); }
};

// Covers all records open in a window, each clipped to it.
struct Statistics {
  struct Work {
    TrackKind kind{};
    std::uint32_t name = 0;
    std::int64_t count = 0;
    std::uint64_t time = 0;     // total, ns
    std::uint64_t longest = 0;  // ns
  };
  struct Device {
    std::int64_t device = 0;
    std::string name;
    // ns during which there was: any work; kernels or graphs; copies, sets and the like; both at
    // once; an NCCL kernel and nothing else.
    std::uint64_t busy = 0, compute = 0, copies = 0, both = 0, exposed = 0;
    std::int64_t records = 0;
    Window work;  // from the first work in the window to the last

    // The base of its shares: the window, for a chosen part of a run; for a whole run the time from
    // its first to its last work, since the host may begin long before and end long after.
    std::uint64_t span(const Window& window, bool is_part) const {
      return is_part ? window.length() : work.length();
    }
  };
  std::vector<Work> work;  // most time first
  std::vector<Device> devices;
};

struct Model {
  std::vector<Track> tracks;
  std::vector<Name> names;
  std::vector<std::string> tables;  // of the records
  std::vector<bool> compute;        // by table: kernels and graphs
  std::int64_t begin = 0, end = 0;  // of everything with a time; equal if nothing has one
  std::int64_t zero = 0;            // the origin of displayed times
  std::int64_t records = 0;         // drawn records
  std::int64_t stored = 0;          // all records of the file, see read/record_count.hpp
  std::int64_t without_times = 0;   // GPU work; not drawn
  bool ranges_missing = false;      // there are NVTX markers that were never paired
  std::vector<std::string> losses;  // one sentence each
  // Of the whole run, if known.
  std::optional<Statistics> whole;
  std::optional<report::TimeAccount> account;
  std::shared_ptr<BlockFile> blocks;  // for stored rows; null: all rows are in memory
};

Window window_of(const Model& model);

// Reads the file's stored timeline if it is up to date, otherwise all records. A model of a stored
// timeline keeps reading the file, on its own connection: then use it from one thread at a time.
// `check` is called from time to time and may throw. Memory: 22 bytes per record; for a
// stored timeline, a few bytes per 400 records. `names`: from another model, which keep their
// numbers. `show_work` is called with the GPU work alone before records of other kinds are read,
// unless the timeline is stored.
Model read_model(store::Database& database, const std::function<void(std::string_view)>& check,
                 std::vector<Name> names = {}, const std::function<void(Model)>& show_work = {});

// Why nothing of a run is drawn; empty if something is, or if the reason is unknown.
std::string why_empty(store::Database& database, const Model& model);

// Puts the records of a track, of each table in any order, into rows. For read_model() and tests.
void make_rows(std::vector<RecordColumns> tables, Track& track);

struct PointRange {
  std::uint32_t x = 0;
  double least = 0, most = 0, last = 0;  // of the values that begin in the pixel
};

struct Tile {
  std::vector<std::vector<Piece>> rows;
  std::vector<PointRange> points;  // for a counter
  std::optional<double> before;    // the counter's value at the start of the window
};
// Requires `from` < `to` and `width` >= 1.
Tile make_tile(const Track& track, std::int64_t from, std::int64_t to, std::uint32_t width);

Statistics statistics(const Model& model, std::int64_t from, std::int64_t to);

struct Place {
  std::uint32_t track = 0, row = 0, item = 0;
};

// The result of searching records by name.
struct Found {
  std::int64_t count = 0;
  std::optional<Place> next;  // the first that begins after `after`
  bool around = false;        // none does, so `next` is the first of all
  // The names with most of them, an index into Model::names each, and how many.
  std::vector<std::pair<std::uint32_t, std::int64_t>> names;
};
inline constexpr std::size_t most_found_names = 1000;
// By name: whether it is wanted. `back`: `next` is the last that begins before `after`, and around
// the last of all.
Found search(const Model& model, const std::vector<bool>& matches, std::int64_t after,
             bool back = false);
// See names_with(), whose errors it throws.
Found search(const Model& model, std::string_view text, std::int64_t after);

// The nth record with exactly that name, counting from 1: among NVTX ranges; if none has it, calls;
// else GPU work. Without a name: the first GPU work.
struct Occurrence {
  std::int64_t count = 0;  // records with that name
  std::optional<std::int64_t> begin;
};
Occurrence find_occurrence(const Model& model, std::string_view name, std::int64_t nth);

// Records of a name in windows of two runs that share their names; GPU work by its function's name.
struct Difference {
  std::string name;
  std::optional<bool> communicates = {};  // as in Name
  std::int64_t count[2] = {0, 0};
  std::uint64_t time[2] = {0, 0};  // total, ns
};
// Largest time difference first.
std::vector<Difference> differences(const std::vector<Name>& names, TrackKind kind,
                                    const Statistics& first, const Statistics& second);

// nullopt: no such record.
std::optional<Item> item_at(const Model& model, const Place& place);

// A fact about a record, in readable form.
struct Detail {
  std::string name, value;
};
struct Section {
  std::string title;
  std::vector<Detail> rows;
};

}  // namespace gpuprof::view
