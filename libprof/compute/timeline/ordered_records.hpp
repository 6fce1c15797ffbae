// All records of a file that a timeline draws, in time order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

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
  // Memory limit for records that are read long before their turn.
  static constexpr std::size_t most_waiting = std::size_t{256} << 20;

  // Scans the tables. `check` is called now and then and may throw.
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
  std::size_t table() const { return current_; }  // index in the list of tables
  const Record& record() const;

 private:
  class Source;

  bool is_before(std::size_t a, std::size_t b) const;
  void choose();

  std::function<void()> check_;
  std::vector<std::unique_ptr<Source>> sources_;  // null: exhausted
  std::size_t current_ = 0;
  std::size_t second_ = 0;  // the earliest of the others
  std::vector<std::int64_t> without_times_;
  std::int64_t latest_ = 1;  // end
  std::size_t visited_ = 0;
  bool possible_ = true, begun_ = false;
};

}  // namespace gpuprof::timeline
