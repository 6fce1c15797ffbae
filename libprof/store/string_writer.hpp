// Table StringTable: each text once.
//
// Part of the loader, on its thread. A cache knows which texts have a row, until a run has had more
// than fit. From then on there is also a table of their hashes, in which texts missing from the
// cache are looked up. That table is dropped at the end of the run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "libprof/store/readable_names.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/store/string_cache.hpp"

namespace gpuprof::store {

// The table of hashes. No stream can have such a name; a file whose writer was killed may have the
// table.
inline constexpr std::string_view string_hashes = "string hashes";

class StringWriter {
 public:
  // The database has its tables, with StringTable empty, and must outlive this object.
  StringWriter(Database& database, std::size_t cache_bytes);

  // All functions below are called inside a transaction.

  // Stores the text unless it exists; returns its id.
  std::int64_t id(std::string_view text);

  bool has_readable_names() const { return names_.has_answers(); }
  // Adds the readable names that have arrived to their strings. Returns how many the demangler gave
  // up on.
  std::size_t store_readable_names();
  // Waits until all have arrived, up to `patience`. Returns the number still missing.
  std::size_t wait_for_readable_names(std::chrono::milliseconds patience) {
    return names_.wait(patience);
  }

  // Texts that were stored since the last remove_unused().
  std::int64_t added() const { return last_id_ - looked_through_; }
  // Deletes the texts that no row refers to, except those in use otherwise: `used` calls its
  // argument with their ids. Reads all rows.
  void remove_unused(const std::function<void(const std::function<void(std::int64_t id)>&)>& used);

  // No more texts follow: drops the table of hashes.
  void finish();

 private:
  std::int64_t stored(std::string_view text, std::int64_t hash);  // 0 if it is not
  void start_hashing();

  Database& database_;
  StringCache cache_;
  ReadableNames names_;
  const std::size_t cache_bytes_;
  std::int64_t last_id_ = 0;
  std::int64_t looked_through_ = 0;  // up to this id
  Statement insert_;
  Statement update_;
  bool hashing_ = false;
  Statement insert_hash_;
  Statement find_;
};

}  // namespace gpuprof::store
