// A loader for tests, and access to its database.
#pragma once

#include <string>
#include <utility>

#include "libprof/store/loader.hpp"
#include "tests/unit/empty_profile.hpp"

namespace gpuprof::test {

inline store::Loader make_loader(const std::string& path = ":memory:",
                                 store::LoaderOptions options = {}) {
  return store::Loader(
      path == ":memory:" ? empty_profile() : store::Database(path, store::Database::Mode::create),
      options);
}

// Rows as text: columns are separated by "|", rows by a blank; NULL is "-".
inline std::string rows(store::Database& database, const std::string& sql) {
  std::string text;
  store::Statement statement = database.prepare(sql);
  while (statement.step()) {
    if (!text.empty()) text += ' ';
    for (int i = 0; i < statement.column_count(); ++i) {
      if (i > 0) text += '|';
      text += statement.is_null(i) ? "-" : std::string(statement.text(i));
    }
  }
  return text;
}

}  // namespace gpuprof::test
