// Reads selected columns of a table, in chunks, at full speed.
//
//   store::Snapshot snapshot(database);
//   columns::Reader reader(snapshot, {.table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL",
//                                     .columns = {"start", "end", "name"}});
//   reader.read([](const columns::Chunk& chunk) {
//     const auto start = chunk[0].int64s(), end = chunk[1].int64s();
//     const auto name = chunk[2].int32s();
//     for (std::size_t row = 0; row < chunk.rows(); ++row) …
//   });
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "libprof/read/columns/chunk.hpp"
#include "libprof/read/columns/request.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

// Rows are read in one of two ways, with the same values. Complete pages of the table are read
// directly from the file if it holds the entire state and does not change (Snapshot::in_file());
// SQLite reads everything else: a file with a log, rows with overflow pages, corrupt pages, tables
// without row ids. The choice is made for each piece of the table.
//
// A table that the file lacks has no rows; a missing column is NULL in all rows. Values that are
// not of the column's type also read as NULL and are counted (Chunk::misfits(), value.hpp).
//
// Belongs to the snapshot's thread and must not outlive it; uses as many threads as the snapshot
// has connections, so only one reader of a snapshot may read at a time, and never inside another's
// visit. The callbacks of scan() must not use the snapshot's database. Memory: a few MiB per
// thread, regardless of the file's size. Throws Error for a table or column unknown to the schema,
// and for errors that SQLite finds in the file. Database::watch() of the snapshot's database ends
// the reading between two chunks.
class Reader {
 public:
  Reader(store::Snapshot& snapshot, const Request& request);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // All rows in id order. `visit` is called on this thread while others read ahead; an exception
  // from it ends the reading. Rows of a table without ids come in SQLite's order.
  void read(const std::function<void(const Chunk&)>& visit);

  // The same as an iterator: each chunk is valid until the next call. Uses only this thread, and
  // may run alongside other cursors on the snapshot.
  class Cursor {
   public:
    explicit Cursor(Reader& reader);
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    // Null: no more rows.
    const Chunk* next();

   private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  // The same rows in any order, visited by the threads that read them: each has its own accumulator
  // and copy of `visit`.
  template <typename Accumulator, typename Visit>
  std::vector<Accumulator> scan(const Visit& visit) {
    struct alignas(64) Part {  // one cache line each: neighbours are written by different threads
      Accumulator accumulator{};
      Visit visit;
    };
    std::vector<Part> parts;
    for (std::size_t i = 0; i < threads(); ++i) parts.push_back({.visit = visit});
    scan_by_threads([&](std::size_t thread, const Chunk& chunk) {
      parts[thread].visit(parts[thread].accumulator, chunk);
    });
    std::vector<Accumulator> result;
    for (Part& part : parts) result.push_back(std::move(part.accumulator));
    return result;
  }

  // Parts of the table read so far from the file and by SQLite.
  std::int64_t read_from_file() const { return from_file_; }
  std::int64_t read_by_sqlite() const { return by_sqlite_; }

 private:
  class Dealer;
  class Worker;
  class Queue;

  std::size_t threads() const { return snapshot_.threads(); }
  Chunk make_chunk() const;
  void scan_by_threads(const std::function<void(std::size_t thread, const Chunk&)>& visit);

  store::Snapshot& snapshot_;
  const Plan plan_;
  const std::size_t pages_at_a_time_;
  std::atomic<std::int64_t> from_file_ = 0, by_sqlite_ = 0;
};

}  // namespace gpuprof::columns
