// nvprof's indexes, built from columns instead of by SQLite.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/new_trees.hpp"
#include "libprof/store/scan.hpp"
#include "schema/legacy.hpp"

namespace gpuprof::compute {

// Builds those indexes that the file lacks, for tables that have rows. An index over a column with
// anything but integers is left to store::create_indexes(). Used by one thread. Memory: 16 MiB; if
// rows are far from index order, 4 MiB more and a temporary file.
class NewIndexes {
 public:
  // Tables with this column are read anyway: their indexes are built along the way.
  static constexpr std::string_view column = "correlationId";

  // `trees`: null: none are built.
  NewIndexes(store::Snapshot& snapshot, std::span<const schema::Index> indexes,
             store::NewTrees* trees);
  ~NewIndexes();
  NewIndexes(const NewIndexes&) = delete;
  NewIndexes& operator=(const NewIndexes&) = delete;

  // Adds all rows of a table in id order, before those of the next table: _id_ and the index's
  // `column`. Nobody else may write to the trees between the first call and finish().
  void add(std::string_view table, const columns::Chunk& chunk, std::size_t row_id,
           std::size_t value);
  // All rows of the last table have been added.
  void finish();
  // Abandons the last table: its remaining rows will never come.
  void give_up();
  // Reads the tables that were not added. `check` is called now and then and may throw.
  void make_others(const std::function<void()>& check);

 private:
  class Making;

  void make(const schema::Index& index, const std::function<void()>& check);
  void publish(const schema::Index& index, std::uint32_t root);

  store::Snapshot& snapshot_;
  store::NewTrees* const trees_;
  std::vector<schema::Index> wanted_;  // and not yet built
  std::string table_;                  // being added
  std::unique_ptr<Making> making_;     // null: the table has no such index
};

}  // namespace gpuprof::compute
