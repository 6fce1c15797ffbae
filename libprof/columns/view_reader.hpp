// Chosen columns of a view, made out of its tables' columns.
//
//   columns::ViewReader reader(snapshot, "kernels", {"name", "duration"});
//   if (reader.can_read()) reader.read([](const columns::ViewRows& rows) { … });
//
// SQLite walks through a view row by row. Here what is arithmetic is calculated for many rows at a
// time (arithmetic.hpp), and everything else, names above all, is asked of SQLite once for each
// value that it is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "libprof/columns/arithmetic.hpp"
#include "libprof/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::columns {

using ViewValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// A column of some rows: numbers, texts, or for each row which of some values it has.
struct ViewColumn {
  enum class Form : std::uint8_t { numbers, texts, values };
  Form form = Form::numbers;
  Numbers numbers = {};
  const Column* texts = nullptr;
  // By the numbers in `which`. While it is the same list, values are only added to it.
  const std::vector<ViewValue>* values = nullptr;
  const std::vector<std::uint32_t>* which = nullptr;
};

struct ViewRows {
  std::size_t rows = 0;
  std::vector<ViewColumn> columns;
};

// Belongs to the snapshot's thread and must not outlive it. What SQLite finds wrong with the file
// is thrown.
class ViewReader {
 public:
  // `columns`: those that the view has, as the file names them.
  ViewReader(store::Snapshot& snapshot, std::string_view view,
             const std::vector<std::string>& columns);
  ~ViewReader();
  ViewReader(const ViewReader&) = delete;
  ViewReader& operator=(const ViewReader&) = delete;

  // The file has the view as this build makes it, and its columns are such as can be made here.
  bool can_read() const { return !sources_.empty(); }
  // The column is one of the table's, and an index finds its rows: SQLite is faster then.
  bool has_index(std::size_t column) const;

  // All rows, table by table in the order of their ids. Throws OnlySqlite where that proves to be
  // slower than SQLite, as values hardly ever come again, or where only SQLite knows the value:
  // what was visited before is not to be used then.
  void read(const std::function<void(const ViewRows&)>& visit);

 private:
  class Source;

  const std::vector<std::string> columns_;
  std::optional<ViewText> text_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace gpuprof::columns
