// The compiled-in empty profile.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "libprof/record/empty_profile.hpp"
#include "libprof/store/database_schema.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using store::Database;

TEST_CASE("the compiled-in empty profile is the file that the store creates") {
  for (const bool live : {false, true}) {
    INFO(live);
    const test::TemporaryFolder folder;
    const std::string created = folder / "created.sqlite", written = folder / "written.sqlite";
    {
      Database database(created, Database::Mode::create);
      store::make_empty_profile(database, live);
    }
    {
      Database database(written, Database::Mode::create);
      record::write_empty_profile(database, live);
    }
    const auto bytes = [](const std::string& path) {
      std::ifstream file(path, std::ios::binary);
      return std::string{std::istreambuf_iterator<char>(file), {}};
    };
    const std::string wanted = bytes(created);
    CHECK(wanted.starts_with("SQLite format 3"));
    CHECK((bytes(written) == wanted));  // in parentheses: megabytes are not printed
  }
}
