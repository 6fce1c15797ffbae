// nvprof's indexes, made of columns and not by SQLite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/columns/chunk.hpp"
#include "libprof/store/new_trees.hpp"
#include "libprof/store/scan.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::derive {

// Those of the indexes that the file lacks, of tables that have rows. What is left out, because a
// column holds something else than whole numbers, store::create_indexes() makes. One thread.
// Memory: 16 MiB, and where rows are far from the order of the index as much again and a temporary
// file.
class NewIndexes {
 public:
  // Whose tables are read by somebody anyway: their indexes are made beside.
  static constexpr std::string_view column = "correlationId";

  // `trees`: null: none are made.
  NewIndexes(store::Snapshot& snapshot, std::span<const schema::Index> indexes,
             store::NewTrees* trees);
  ~NewIndexes();
  NewIndexes(const NewIndexes&) = delete;
  NewIndexes& operator=(const NewIndexes&) = delete;

  // Rows of a table in the order of their ids, all of them, before those of another one: _id_ and
  // the `column` of the index. Nobody else may write to the trees between the first and finish().
  void add(std::string_view table, const columns::Chunk& chunk, std::size_t row_id,
           std::size_t value);
  // All rows of the last table have come.
  void finish();
  // They have not, and never will.
  void give_up();
  // Reads what has not come. `check` is called now and then and may throw.
  void make_others(const std::function<void()>& check);

 private:
  class Making;

  void make(const schema::Index& index, const std::function<void()>& check);
  void publish(const schema::Index& index, std::uint32_t root);

  store::Snapshot& snapshot_;
  store::NewTrees* const trees_;
  std::vector<schema::Index> wanted_;  // and not made so far
  std::string table_;                  // that comes
  std::unique_ptr<Making> making_;     // null: it has no such index
};

}  // namespace gpuprof::derive
