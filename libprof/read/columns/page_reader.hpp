// Reads rows from leaf pages without SQLite.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "libprof/read/columns/chunk.hpp"
#include "libprof/read/columns/request.hpp"
#include "libprof/read/columns/tree_walk.hpp"
#include "libprof/read/columns/value.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::columns {

// Reads the pages of a stretch and appends their rows to a chunk. Everything on a page is
// validated; anything that differs from a valid SQLite file, or that only SQLite reads (a row with
// overflow pages), makes it give up on the stretch.
//
// Used by one thread. Memory: the pages of a stretch.
class PageReader {
 public:
  PageReader(store::Database& database, const Plan& plan);

  // False: SQLite must read these rows; the chunk may already hold some of them.
  bool read(const Stretch& stretch, Chunk& chunk);

 private:
  // Where a value is in a row.
  struct Field {
    enum class Form : std::uint8_t { null, number, constant, real, text, blob };
    Form form{};
    std::uint8_t shift = 0;    // number: right shift of the 8 bytes at `offset`
    std::uint32_t offset = 0;  // from the start of the row; constant: the value
    std::uint32_t size = 0;    // text and blob, bytes
  };
  // Contents of a row's header. Many rows share the same, so it is cached with its bytes.
  struct Layout {
    std::array<std::uint8_t, 112> head{};  // the bytes read
    std::size_t head_size = 0;             // 0: too long to be cached
    std::vector<Field> fields;             // indexed like `wanted_`
    std::uint64_t size = 0;                // of the part of the row parsed so far
    bool whole = false;                    // the row has no more values
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
  // Record indexes of the wanted values, ascending, and which of them each column or test uses.
  std::vector<std::size_t> wanted_;
  std::vector<std::size_t> field_of_column_, field_of_test_;
  std::size_t row_id_field_ = 0;  // must be NULL in the row; wanted_.size(): none
  std::size_t head_words_ = 1;    // 8-byte words that distinguish heads
  std::vector<std::uint8_t> pages_;
  std::vector<Cell> cells_;     // of one page
  std::deque<Layout> layouts_;  // cells point to them
  const Layout* latest_ = nullptr;
  std::array<const Layout*, 256> known_{};  // by a hash of the head
};

}  // namespace gpuprof::columns
