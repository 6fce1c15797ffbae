// An empty database made from the definitions, in memory.
#pragma once

#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/enums.hpp"
#include "schema/tables.hpp"
#include "schema/view_text.hpp"

class Database {
 public:
  Database() {
    REQUIRE(sqlite3_open(":memory:", &handle_) == SQLITE_OK);
    namespace schema = gpuprof::schema;
    for (const auto* table : schema::all_tables) run(schema::create_table_sql(*table));
    for (const auto& view : schema::views()) run(schema::create_view_sql(view));
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  void run(const std::string& sql) {
    char* message = nullptr;
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message);
    const std::string text = message == nullptr ? "" : message;
    sqlite3_free(message);
    INFO(sql);
    REQUIRE(text == "");
    REQUIRE(code == SQLITE_OK);
  }

  // All rows; NULL reads as "NULL".
  std::vector<std::vector<std::string>> rows(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    INFO(sql);
    const int prepared = sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr);
    REQUIRE(std::string(prepared == SQLITE_OK ? "" : sqlite3_errmsg(handle_)) == "");
    std::vector<std::vector<std::string>> all;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      auto& row = all.emplace_back();
      for (int i = 0; i < sqlite3_column_count(statement); ++i) {
        const unsigned char* text = sqlite3_column_text(statement, i);
        row.emplace_back(text == nullptr ? "NULL" : reinterpret_cast<const char*>(text));
      }
    }
    REQUIRE(sqlite3_finalize(statement) == SQLITE_OK);
    return all;
  }

  // What SQLite says the columns of an answer are declared as; "": an expression.
  std::vector<std::string> declared_types(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    INFO(sql);
    REQUIRE(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK);
    std::vector<std::string> types;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const char* type = sqlite3_column_decltype(statement, i);
      types.emplace_back(type == nullptr ? "" : type);
    }
    sqlite3_finalize(statement);
    return types;
  }

  // The first column of all rows.
  std::vector<std::string> column(const std::string& sql) {
    std::vector<std::string> all;
    for (auto& row : rows(sql)) all.push_back(row.at(0));
    return all;
  }

  // The first row, its values joined by '|'.
  std::string line(const std::string& sql) {
    const auto all = rows(sql);
    std::string text;
    if (all.empty()) return "no row";
    for (const auto& value : all.front()) text += (text.empty() ? "" : "|") + value;
    return text;
  }

  void enum_names() {
    for (const auto& type : gpuprof::schema::enum_types) {
      for (const auto& value : type.values)
        run("INSERT INTO ENUM_NAME VALUES('" + std::string(type.name) + "', " +
            std::to_string(value.value) + ", '" + std::string(value.name) + "')");
    }
  }

 private:
  sqlite3* handle_ = nullptr;
};
