// Documentation of columns: tables COLUMN_TEXT and DOC_TEXT, from which the view COLUMN_DOC is
// built.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"

namespace gpuprof::store {

// Used by one thread. Keeps all texts in memory once there is something to add.
class ColumnDocs {
 public:
  explicit ColumnDocs(Database& database) : database_(database) {}

  // A column that is already documented is left alone.
  void add(std::string_view table, std::string_view column, const schema::WrittenDoc& doc);
  // Releases the statements: none may be open when the file is closed.
  void close() {
    insert_text_ = Statement();
    insert_column_ = Statement();
    open_ = false;
  }

 private:
  void open();
  std::int64_t id_of(std::string_view text);

  Database& database_;
  std::map<std::string, std::int64_t, std::less<>> ids_;  // of texts
  Statement insert_text_, insert_column_;
  bool open_ = false;
};

}  // namespace gpuprof::store
