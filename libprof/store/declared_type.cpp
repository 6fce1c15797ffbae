#include "libprof/store/declared_type.hpp"

#include <sqlite3.h>

namespace gpuprof::store {

std::string_view declared_type(const Statement& statement, int index) {
  const char* type = sqlite3_column_decltype(statement.handle(), index);
  return type ? type : std::string_view();
}

}  // namespace gpuprof::store
