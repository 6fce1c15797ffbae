// Packed rows as a table that SQLite can select from: `INSERT INTO kind SELECT * FROM packed rows`
// stores a block in one statement, without a bind and a step per row.
//
// Belongs to the loader's thread. A RowSource must outlive the statements that use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/store/sqlite.hpp"
#include "libprof/store/string_ids.hpp"
#include "schema/column.hpp"

namespace gpuprof::store {

// What the loader knows about a process and its rows need.
struct RowContext {
  std::int64_t process_id = 0;
  StringIds string_ids;
  // Of the current batch, for columns of type bytes and text. Views into its frame.
  std::unordered_map<std::uint32_t, std::string_view> byte_strings;
  // The process's numbers for the high 32 bits of correlation ids, indexed by how often CUPTI's
  // counter has wrapped.
  std::vector<std::int64_t> numbers;
  std::function<std::int64_t()> next_number;  // returns another number
  std::uint64_t correlation_reference = 0;    // the last id seen, unwrapped
  std::uint64_t correlations_lost = 0;        // after more wraps than are plausible

  // CUPTI's id with the process's number in the high half; 0 stays 0.
  std::int64_t correlation(std::uint32_t id);
};

// One block of rows, laid out according to its table's definition.
struct RowSource {
  struct Cell {
    // The column's type, with the top bit set if nullable, or one of the following.
    static constexpr std::uint8_t always_null = 0;  // not in the running CUPTI
    static constexpr std::uint8_t correlation = 0x40;
    static constexpr std::uint8_t process_id = 0x41;  // not in the row: taken from the context
    static constexpr std::uint8_t correlation_or_null = 0x42;
    std::uint8_t how = always_null;
    std::uint16_t width{};
    std::uint32_t offset{};
  };
  static Cell cell(schema::Type type, schema::Role role, std::uint16_t width, std::uint32_t offset);

  std::vector<Cell> cells;  // in the order of the INSERT
  std::size_t row_width = 0;

  // Set for each block:
  const std::byte* rows = nullptr;
  std::size_t count = 0;
  RowContext* context = nullptr;
};

// Creates the temporary table `temp.name` that exposes `source`.
void create_row_source(Database& database, const std::string& name, RowSource& source,
                       std::span<const std::string> column_names);

// Once per database, before the first create_row_source.
void register_packed_rows(Database& database);

}  // namespace gpuprof::store
