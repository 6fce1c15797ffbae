// What columns mean: tables COLUMN_TEXT and DOC_TEXT, which the view COLUMN_DOC is made of.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"

namespace gpuprof::store {

// One thread. Remembers all texts, once there is something to add.
class ColumnDocs {
 public:
  explicit ColumnDocs(Database& database) : database_(database) {}

  // A column that is documented already stays as it is.
  void add(std::string_view table, std::string_view column, const schema::WrittenDoc& doc);
  // Nothing of it may be open when the file is closed.
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
