// Chosen columns of a table, in pieces, as fast as the machine gives them.
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

#include "libprof/columns/chunk.hpp"
#include "libprof/columns/request.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

// Two ways lead to the rows, with the same values. Finished pages of the table are read straight
// from the file, where its state is all in there and stays as it is (Snapshot::in_file()); all
// else is read by SQLite: a file with a log, rows that go on in other pages, pages that make no
// sense, tables without row ids. Which it is, is found for each piece of the table.
//
// A table that the file lacks has no rows, a column that it lacks is NULL in all of them. What is
// not of the column's type reads as NULL too, and is counted (Chunk::misfits(), value.hpp).
//
// Belongs to the snapshot's thread and must not outlive it; uses as many threads as that has
// connections, so one reader of a snapshot reads at a time, and never inside another's visit. What
// scan() calls leaves the snapshot's database alone. Memory: a few MiB for each thread, however
// large the file is. Throws Error for a table or column that the schema does not know, and what
// SQLite finds wrong with the file. Database::watch() of the snapshot's ends it as it ends a
// statement, between two pieces.
class Reader {
 public:
  Reader(store::Snapshot& snapshot, const Request& request);
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // All rows in the order of their ids. `visit` is called by this thread, while others read ahead;
  // what it throws ends the reading. Rows of a table without ids come as SQLite gives them.
  void read(const std::function<void(const Chunk&)>& visit);

  // The same, asked for: each chunk stays until the next call. On this thread alone, beside other
  // cursors of the snapshot's readers.
  class Cursor {
   public:
    explicit Cursor(Reader& reader);
    ~Cursor();
    Cursor(const Cursor&) = delete;
    Cursor& operator=(const Cursor&) = delete;

    // Null: that was all.
    const Chunk* next();

   private:
    struct Parts;
    std::unique_ptr<Parts> parts_;
  };

  // The same rows in no order, visited by the threads that read them: each has an accumulator and a
  // copy of `visit` of its own.
  template <typename Accumulator, typename Visit>
  std::vector<Accumulator> scan(const Visit& visit) {
    struct alignas(64) Part {  // a cache line each: two threads write to neighbours
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

  // Parts of the table that were read so far: from the file, and by SQLite.
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
