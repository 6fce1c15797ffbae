#include "libprof/read/one_number.hpp"

namespace gpuprof::reading {

bool is_of_content(const store::DatabaseError& error) {
  return error.of_statement() || error.kind() == store::DatabaseError::Kind::other;
}

std::optional<std::int64_t> number(store::Database& database, std::string_view sql) {
  try {
    return database.integer(sql);
  } catch (const store::DatabaseError& error) {
    if (!is_of_content(error)) throw;
    return std::nullopt;
  }
}

}  // namespace gpuprof::reading
