// All records of a file that a timeline draws, in time order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/base/merge.hpp"
#include "libprof/compute/timeline/records.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::timeline {

struct Record {
  std::int64_t begin = 0, end = 0, id = 0;
  std::int64_t name = 0;  // as in its table
  TrackKey key{};
};

// Sorted by begin, outer ones first, then by table, then by id. Belongs to the snapshot's thread
// and must not outlive it; no reader of the snapshot may read meanwhile.
class OrderedRecords {
 public:
  // Scans the tables, which must outlive it. `check` is called now and then and may throw.
  OrderedRecords(store::Snapshot& snapshot, const std::vector<RecordTable>& tables,
                 std::function<void()> check);
  ~OrderedRecords();
  OrderedRecords(const OrderedRecords&) = delete;
  OrderedRecords& operator=(const OrderedRecords&) = delete;

  // False: they are too far out of order. Nothing else may be called then.
  bool possible() const { return possible_; }
  // GPU work without times, per table.
  const std::vector<std::int64_t>& without_times() const { return without_times_; }

  // Moves to the first or next record. False: there is none.
  bool next();
  std::size_t table() const { return sources_.place(); }  // index in the list of tables
  const Record& record() const;

 private:
  class Source;

  std::function<void()> check_;
  Merge<Source> sources_;  // by table
  std::vector<std::int64_t> without_times_;
  std::size_t visited_ = 0;
  bool possible_ = true;
};

}  // namespace gpuprof::timeline
