// Finds or creates the FUNCTION row of a function that a stream identifies by its cubin, for PC
// samples and SASS metrics.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "libprof/store/packed_rows.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/store/string_writer.hpp"
#include "libprof/wire/code_values.hpp"

namespace gpuprof::store {

// A count from a stream, clamped to SQLite's integer range.
inline std::int64_t stored_count(std::uint64_t value) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(value, INT64_MAX));
}

// Part of the loader: its thread, its transaction.
class CodeFunctions {
 public:
  // What is remembered per stream.
  class Share {
    friend class CodeFunctions;
    std::map<std::pair<std::uint64_t, std::string>, std::int64_t> ids_;
  };

  // Both must outlive this object.
  CodeFunctions(Database& database, StringWriter& strings);

  // The row that the collector sent with --trace +module, or one that we create. 0: too many
  // functions.
  std::int64_t id(Share& share, const RowContext& process, std::uint32_t context,
                  const wire::CodeFunction& function);

 private:
  Database& database_;
  StringWriter& strings_;
  std::int64_t last_;
};

}  // namespace gpuprof::store
