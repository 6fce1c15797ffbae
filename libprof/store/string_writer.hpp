// Table StringTable: each text once.
//
// A part of the loader, on its thread. Which texts have a row is known by a cache, until a run has
// had more of them than fit. From then on there is a table of their hashes besides, and a text that
// the cache does not have is looked up. That table goes at the end of the run.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "libprof/store/readable_names.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/store/string_cache.hpp"

namespace gpuprof::store {

// Of the hashes. A stream can have no such name; a file whose writer was killed may have the table.
inline constexpr std::string_view string_hashes = "string hashes";

class StringWriter {
 public:
  // The database has its tables, StringTable no row, and outlives this.
  StringWriter(Database& database, std::size_t cache_bytes);

  // All below: inside the caller's transaction.

  // Stores the text unless it is there.
  std::int64_t id(std::string_view text);

  bool has_readable_names() const { return names_.has_answers(); }
  // Puts those that have come beside their strings. How many the demangler gave up.
  std::size_t store_readable_names();
  // Until all have come, at most this long. How many have not.
  std::size_t wait_for_readable_names(std::chrono::milliseconds patience) {
    return names_.wait(patience);
  }

  // No more texts come: drops the table of hashes.
  void finish();

 private:
  std::int64_t stored(std::string_view text, std::int64_t hash);  // 0: it is not
  void start_hashing();

  Database& database_;
  StringCache cache_;
  ReadableNames names_;
  std::int64_t last_id_ = 0;
  Statement insert_;
  Statement update_;
  bool hashing_ = false;
  Statement insert_hash_;
  Statement find_;
};

}  // namespace gpuprof::store
