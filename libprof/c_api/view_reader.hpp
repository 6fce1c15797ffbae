// Selected columns of a view, computed from the columns of its tables.
//
//   c_api::ViewReader reader(snapshot, "kernels", {"name", "duration"});
//   if (reader.can_read()) reader.read([](const c_api::ViewRows& rows) { … });
//
// SQLite evaluates a view row by row. Here arithmetic is done for many rows at a time
// (arithmetic.hpp), and for everything else, above all names, SQLite is asked once per distinct
// combination of input values.
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

#include "libprof/c_api/arithmetic.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::c_api {

using ViewValue = std::variant<std::monostate, std::int64_t, double, std::string>;

// A column of some rows: numbers, texts, or an index per row into a list of values.
struct ViewColumn {
  enum class Form : std::uint8_t { numbers, texts, values };
  Form form = Form::numbers;
  Numbers numbers = {};
  const columns::Column* texts = nullptr;
  // Indexed by `which`. Values are only ever appended while the list stays the same.
  const std::vector<ViewValue>* values = nullptr;
  const std::vector<std::uint32_t>* which = nullptr;
};

struct ViewRows {
  std::size_t rows = 0;
  std::vector<ViewColumn> columns;
};

// Belongs to the snapshot's thread and must not outlive it. Throws errors that SQLite finds in the
// file.
class ViewReader {
 public:
  // `columns`: columns of the view, named as in the file.
  ViewReader(store::Snapshot& snapshot, std::string_view view,
             const std::vector<std::string>& columns);
  ~ViewReader();
  ViewReader(const ViewReader&) = delete;
  ViewReader& operator=(const ViewReader&) = delete;

  // Whether the file's view is the one of this build and its columns can be computed here.
  bool can_read() const { return !sources_.empty(); }
  // Whether the column is a table's column with an index: SQLite is then faster at finding rows.
  bool has_index(std::size_t column) const;

  // All rows, table by table in id order. Throws OnlySqlite if this turns out slower than SQLite
  // because values hardly ever repeat, or if only SQLite can compute the value: discard everything
  // visited before.
  void read(const std::function<void(const ViewRows&)>& visit);

 private:
  class Source;

  const std::vector<std::string> columns_;
  std::optional<ViewText> text_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace gpuprof::c_api
