// Arranges records in rows.
#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "libprof/base/merge.hpp"
#include "libprof/view/model/reading.hpp"

namespace gpuprof::view {
namespace {

// The records of one table, for Merge.
class TableOfTrack {
 public:
  TableOfTrack(const RecordColumns& records, std::size_t number)
      : records_(records), number_(number) {}

  bool next() {
    if (++place_ == records_.size()) return false;
    if (place_ % Slab::most == 0) {
      slab_ = &records_.slab_of(place_);
      at_ = 0;
    }
    times_ = records_.times(*slab_, at_++);
    return true;
  }
  bool is_before(const TableOfTrack& other) const { return times_.is_before(other.times_); }

  const StartAndEnd& times() const { return times_; }
  std::size_t place() const { return place_; }
  std::size_t number() const { return number_; }

 private:
  const RecordColumns& records_;
  std::size_t number_, place_ = SIZE_MAX;
  const Slab* slab_ = nullptr;
  std::size_t at_ = 0;  // the next place in it
  StartAndEnd times_;
};

Merge<TableOfTrack> merged(const std::vector<RecordColumns>& tables) {
  Merge<TableOfTrack> merge;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    merge.add(std::make_unique<TableOfTrack>(tables[i], i));
  }
  return merge;
}

// The table that is each row, as calls of the driver inside of those of the runtime are. Nullopt:
// some row would have records of several tables, or some table records in several rows.
std::optional<std::vector<std::size_t>> rows_of_one_table(
    const std::vector<RecordColumns>& tables) {
  constexpr std::size_t none = SIZE_MAX;
  std::vector<std::size_t> row_of(tables.size(), none), rows;
  timeline::RowChoice choice;
  Merge<TableOfTrack> merge = merged(tables);
  while (const TableOfTrack* table = merge.next()) {
    const std::size_t row = choice.choose(table->times().begin, table->times().end);
    if (row == row_of[table->number()]) continue;
    if (row_of[table->number()] != none || row != rows.size()) return std::nullopt;
    row_of[table->number()] = row;
    rows.push_back(table->number());
  }
  return rows;
}

// Uses the memory of the tables again.
std::vector<RecordColumns> divided(std::vector<RecordColumns>& tables, std::int64_t& left_out) {
  Slabs slabs(false);
  std::vector<RecordColumns> rows;
  timeline::RowChoice choice;
  Merge<TableOfTrack> merge = merged(tables);
  while (const TableOfTrack* table = merge.next()) {
    const std::size_t row = choice.choose(table->times().begin, table->times().end);
    const std::size_t place = table->place();
    RecordColumns& records = tables[table->number()];
    const Item item = records[place];
    if (place % Slab::most == Slab::most - 1) slabs.give(records.take_slab_of(place));
    if (row == timeline::RowChoice::none) {
      ++left_out;
      continue;
    }
    if (row == rows.size()) rows.emplace_back(&slabs);
    rows[row].add(item);
  }
  return rows;
}

}  // namespace

void make_rows(std::vector<RecordColumns> tables, Track& track) {
  for (RecordColumns& table : tables) {
    table.sort();
    track.records += static_cast<std::int64_t>(table.size());
  }
  std::vector<RecordColumns> rows;
  if (const auto whole = rows_of_one_table(tables)) {
    for (const std::size_t table : *whole) rows.push_back(std::move(tables[table]));
  } else {
    rows = divided(tables, track.left_out);
    tables.clear();
  }
  for (RecordColumns& row : rows) {
    track.rows.push_back(std::make_unique<MemoryRow>(std::move(row)));
  }
}

void make_all_rows(std::vector<RowsJob>& jobs) {
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < jobs.size(); i = next++) {
      std::vector<RecordColumns> tables;
      for (NamedRecords& table : *jobs[i].tables) {
        table.records.rename(*table.names);
        tables.push_back(std::move(table.records));
      }
      make_rows(std::move(tables), *jobs[i].track);
    }
  };
  const std::size_t most = std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, 8);
  std::vector<std::future<void>> others;
  for (std::size_t i = 1; i < std::min(most, jobs.size()); ++i) {
    others.push_back(std::async(std::launch::async, work));
  }
  work();
  for (std::future<void>& other : others) other.get();
}

}  // namespace gpuprof::view
