// Functions of our own in SQL give what SQLite's give, in time that the arguments' lengths allow.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "libprof/store/functions.hpp"

using namespace gpuprof;

namespace {

using Connection = std::unique_ptr<sqlite3, int (*)(sqlite3*)>;

Connection open(bool confined) {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(":memory:", &connection) == SQLITE_OK);
  if (confined) store::confine_functions(connection);
  return {connection, sqlite3_close};
}

// Type and value of an expression, or what is wrong with it.
std::string value(const Connection& connection, const std::string& expression,
                  const std::vector<std::string>& values = {}) {
  const std::string sql =
      "SELECT typeof(v) || ':' || quote(v) FROM (SELECT " + expression + " AS v)";
  sqlite3_stmt* statement = nullptr;
  std::string result;
  if (sqlite3_prepare_v2(connection.get(), sql.c_str(), -1, &statement, nullptr) == SQLITE_OK) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      sqlite3_bind_text64(statement, static_cast<int>(i + 1), values[i].data(), values[i].size(),
                          SQLITE_STATIC, SQLITE_UTF8);
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      result = text ? text : "NULL";
    }
  }
  if (result.empty()) result = sqlite3_errmsg(connection.get());
  sqlite3_finalize(statement);
  return result;
}

}  // namespace

TEST_CASE("functions of our own give what SQLite's give") {
  const Connection own = open(true), plain = open(false);
  for (const char* expression :
       {"instr(NULL, 'a')",
        "instr('a', NULL)",
        "instr('', '')",
        "instr('abc', '')",
        "instr('', 'a')",
        "instr(x'0102ff03', x'ff')",
        "instr('\u00e4\u00e4b', 'b')",
        "instr(x'c3a4c3a462', 'b')",
        "instr('\u00e4\u00e4b', x'62')",
        "instr(12345, 34)",
        "instr(1.5, '.')",
        "instr(x'', x'')",
        "trim(NULL, 'a')",
        "trim('a', NULL)",
        "trim('', 'a')",
        "trim('aXa', '')",
        "trim('  a ')",
        "ltrim(' a ')",
        "rtrim(' a ')",
        "trim(1213121, 12)",
        "trim(x'616261', 'a')",
        "trim('\u00e4b\u00e4', '\u00e4')",
        "rtrim('b\u00e4\u20ac\U0001f600', '\U0001f600\u20ac')",
        "ltrim('__cuda', '_')",
        "replace(NULL, 'a', 'b')",
        "replace('a', NULL, 'b')",
        "replace('a', 'a', NULL)",
        "replace('abc', '', 'x')",
        "replace(12, '', 'x')",
        "replace(1212, 1, 3)",
        "replace('aaa', 'aa', 'b')",
        "replace(x'616261', 'a', '')",
        "printf('%d %5.2f|%-5s|%x %q %Q %%', 7, 2.5, 'a', 255, 'it''s', NULL)",
        "printf('%s')",
        "printf(NULL)",
        "printf(12)",
        "printf('%,d', 1234567)",
        "format('%.3g', 1.0/3)",
        "printf('%.*c', 5, 'x')",
        "printf('%s', x'4142')"}) {
    INFO(expression);
    CHECK(value(own, expression) == value(plain, expression));
  }
  std::mt19937 chance(7);
  const std::vector<std::string> letters{"a", "b", "\u00e4", "\u20ac", "\U0001f600", "_"};
  const auto text = [&](std::size_t most) {
    std::string made;
    for (std::size_t count = chance() % (most + 1); count > 0; --count) {
      made += letters[chance() % letters.size()];
    }
    return made;
  };
  for (int i = 0; i < 3000; ++i) {
    const std::vector<std::string> values{text(30), text(4), text(3)};
    for (const char* expression : {"instr(?1, ?2)", "trim(?1, ?2)", "ltrim(?1, ?2)",
                                   "rtrim(?1, ?2)", "replace(?1, ?2, ?3)"}) {
      INFO(expression << " of " << values[0] << ", " << values[1] << ", " << values[2]);
      REQUIRE(value(own, expression, values) == value(plain, expression, values));
    }
  }
}

TEST_CASE("what only SQLite's tests and extensions call is not to be called") {
  const Connection own = open(true);
  for (const char* expression :
       {"fts3_tokenizer('simple')", "fts3_tokenizer('simple', x'0000000000000000')",
        "load_extension('x')", "sqlite_log(1, 'x')", "rtreecheck('x')", "rtreenode(2, x'00')",
        "json_patch('{}', '{}')", "sqlite_compileoption_get(1)"}) {
    INFO(expression);
    CHECK_THAT(value(own, expression),
               Catch::Contains("not authorized") || Catch::Contains("no such function"));
  }
  CHECK(store::user_may_call("PRINTF"));
  CHECK_FALSE(store::view_may_call("printf"));
  CHECK(store::view_may_call("Instr"));
}

// Each of them took hours, or as long as anybody would wait.
TEST_CASE("no function takes the product of its arguments' lengths") {
  const Connection own = open(true);
  constexpr std::size_t size = 1 << 20;
  const std::string as(size, 'a'), half = std::string(size / 2, 'a') + "b";
  std::string others;
  for (std::size_t i = 0; i < size / 4; ++i) {
    others += {static_cast<char>(0xe0 + i % 16), static_cast<char>(0x80 + i / 16 % 64),
               static_cast<char>(0x80 + i / 1024 % 64)};
  }
  const auto began = std::chrono::steady_clock::now();
  CHECK(value(own, "instr(?1, ?2)", {as, half}) == "integer:0");
  CHECK(value(own, "length(trim(?1, ?2))", {as, others + "a"}) == "integer:0");
  CHECK(value(own, "length(rtrim(?1, ?2))", {"b" + as, others + "a"}) == "integer:1");
  CHECK(value(own, "length(replace(?1, ?2, ''))", {as, half}) == "integer:" + std::to_string(size));
  std::string format;
  while (format.size() < size) format += "%.900000g";
  CHECK_THAT(value(own, "printf(?1)", {format}), Catch::Contains("1,000 bytes"));
  CHECK(value(own, "length(printf(?1))", {format.substr(0, 1000)}).starts_with("integer:"));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
}
