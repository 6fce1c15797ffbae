// Documentation of tables and columns: TABLE_TEXT, COLUMN_TEXT and DOC_TEXT, from which the views
// TABLE_DOC and COLUMN_DOC are built.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"

namespace gpuprof::store {

// Used by one thread. Keeps all texts in memory once there is something to add.
class Docs {
 public:
  explicit Docs(Database& database) : database_(database) {}

  // What is already documented is left alone. `look_first`: 0, or the place in
  // TABLE_DOC.look_first.
  void add_table(std::string_view table, std::string_view doc, bool is_view = false,
                 std::int64_t look_first = 0);
  void add_column(std::string_view table, std::string_view column, const schema::WrittenDoc& doc);
  // Releases the statements: none may be open when the file is closed.
  void close() {
    insert_text_ = Statement();
    insert_table_ = Statement();
    insert_column_ = Statement();
    open_ = false;
  }

 private:
  void open();
  std::int64_t id_of(std::string_view text);

  Database& database_;
  std::map<std::string, std::int64_t, std::less<>> ids_;  // of texts
  Statement insert_text_, insert_table_, insert_column_;
  bool open_ = false;
};

}  // namespace gpuprof::store
