#include "libprof/compute/fill.hpp"

#include <string>

#include "libprof/base/text.hpp"

namespace gpuprof::compute {

store::Statement fill(store::Database& database, const schema::Table& table, std::string_view in) {
  const std::string name = std::string(in) + "." + std::string(table.name);
  database.execute("DELETE FROM " + name);
  const std::string columns = joined(table.columns, ", ", [](const schema::Column& column) {
    return store::quoted_name(column.name);
  });
  const std::string values = joined(table.columns, ", ", [](const schema::Column&) { return "?"; });
  return database.prepare("INSERT OR REPLACE INTO " + name + "(" + columns + ") VALUES(" + values +
                          ")");
}

}  // namespace gpuprof::compute
