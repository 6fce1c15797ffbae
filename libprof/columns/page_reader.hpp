// Rows out of leaf pages, without SQLite.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "libprof/columns/chunk.hpp"
#include "libprof/columns/request.hpp"
#include "libprof/columns/tree_walk.hpp"
#include "libprof/columns/value.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::columns {

// Reads the pages of a stretch and appends their rows to a chunk. Everything that a page says is
// checked; what is not as a sound file of SQLite's has it, and what only SQLite reads (a row that
// goes on in other pages), makes it give up the stretch.
//
// One thread. Memory: the pages of a stretch.
class PageReader {
 public:
  PageReader(store::Database& database, const Plan& plan);

  // False: SQLite is to be asked for these rows; the chunk may have a part of them.
  bool read(const Stretch& stretch, Chunk& chunk);

 private:
  // Where a value is in a row.
  struct Field {
    enum class Form : std::uint8_t { null, number, constant, real, text, blob };
    Form form{};
    std::uint8_t shift = 0;    // number: of the 8 bytes at `offset`, whose first are the value
    std::uint32_t offset = 0;  // from the row's beginning; constant: the value
    std::uint32_t size = 0;    // text and blob, bytes
  };
  // What a row's header says. Many rows have the same, so it is kept with the bytes that said so.
  struct Layout {
    std::array<std::uint8_t, 112> head{};  // as far as it was read
    std::size_t head_size = 0;             // 0: it is too long to be kept
    std::vector<Field> fields;             // as `wanted_`
    std::uint64_t size = 0;                // of the row, so far
    bool whole = false;                    // there is no more of the row
  };
  struct Cell {
    const std::uint8_t* row;
    const Layout* layout;
    std::int64_t id;
  };

  bool fetch(const Stretch& stretch);
  bool find_cells(const std::uint8_t* page, bool may_be_empty, std::int64_t first,
                  std::int64_t last);
  const Layout* layout_of(const std::uint8_t* row, std::uint64_t size);
  bool parse(const std::uint8_t* row, std::uint64_t size, Layout& layout) const;
  void test_cells();
  void add_column(Chunk& chunk, std::size_t index) const;
  template <class Number>
  void add_numbers(Chunk& chunk, std::size_t index, Number* values) const;
  static Value value_of(const Cell& cell, const Field& field);

  store::Database& database_;
  const Plan& plan_;
  // Values of a row that are looked for, by their ascending place in it; and which of them a
  // column or test is about.
  std::vector<std::size_t> wanted_;
  std::vector<std::size_t> field_of_column_, field_of_test_;
  std::size_t row_id_field_ = 0;  // must be NULL in the row; or as many as there are
  std::size_t head_words_ = 1;    // of 8 bytes, that tell heads apart
  std::vector<std::uint8_t> pages_;
  std::vector<Cell> cells_;     // of one page
  std::deque<Layout> layouts_;  // which cells point to
  const Layout* latest_ = nullptr;
  std::array<const Layout*, 256> known_{};  // by a hash of the head
};

}  // namespace gpuprof::columns
