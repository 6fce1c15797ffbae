#include "libprof/compute/fill.hpp"

#include <string>

namespace gpuprof::compute {

store::Statement fill(store::Database& database, const schema::Table& table) {
  const std::string name = "main." + std::string(table.name);
  database.execute("DELETE FROM " + name);
  std::string columns, values;
  for (const schema::Column& column : table.columns) {
    columns += (columns.empty() ? "" : ", ") + store::quoted_name(column.name);
    values += values.empty() ? "?" : ", ?";
  }
  return database.prepare("INSERT OR REPLACE INTO " + name + "(" + columns + ") VALUES(" + values +
                          ")");
}

}  // namespace gpuprof::compute
