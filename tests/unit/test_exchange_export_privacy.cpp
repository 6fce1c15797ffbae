#include <algorithm>
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "libprof/exchange/export/privacy.hpp"
#include "schema/activity/all.hpp"
#include "schema/tables.hpp"

using namespace gpuprof;
using exporting::Content;
using exporting::content_of;

TEST_CASE("strings of activity tables stay, except names of files and libraries") {
  std::set<std::string> stay, go;
  for (const schema::KindRef& kind : schema::kinds) {
    for (const schema::Column& column : kind.table->columns) {
      const Content content = content_of(kind.table->name, column.name);
      INFO(kind.table->name << "." << column.name);
      if (column.type == schema::Type::string) {
        (content == Content::string ? stay : go).emplace(column.name);
        CHECK(content != Content::plain);
      } else {
        CHECK((content == Content::secret) == (column.type == schema::Type::bytes));
      }
    }
  }
  // A new one has to be put into one of these, and into privacy.cpp if it is to stay.
  CHECK(stay == std::set<std::string>{"name", "domain", "funcName", "varName", "kernelName"});
  CHECK(go == std::set<std::string>{"srcFile", "cachePath", "source"});
}

TEST_CASE("ids of strings in our own tables are known as such") {
  for (const schema::Table* table : schema::own_tables) {
    for (const schema::Column& column : table->columns) {
      INFO(table->name << "." << column.name);
      const bool id = column.doc.find("StringTable id") != column.doc.npos;
      // A path says whose machine it was.
      const bool path = column.name == "source" || column.name == "fileName";
      CHECK((id && !path) == (content_of(table->name, column.name) == Content::string));
      if (path) CHECK(content_of(table->name, column.name) == Content::secret);
    }
  }
  for (const schema::Table& table : schema::legacy::tables) {
    INFO(table.name);
    if (table.kind == 0) continue;
    const bool name = schema::has_column(table, "name");
    CHECK(name == (content_of(table.name, "name") == Content::string));
    CHECK(content_of(table.name, "_id_") == Content::plain);
  }
}

TEST_CASE("texts of our own tables stay where they tell of nobody") {
  std::set<std::string> go, words;
  for (const schema::Table* table : schema::own_tables) {
    if (table->origin == schema::Origin::words && table->name != "API_NAME") continue;
    if (table->origin == schema::Origin::computed && table->name != "NVTX_RANGE" &&
        table->name != "NVTX_PAYLOAD") {
      continue;  // computed anew of what is in the part
    }
    for (const schema::Column& column : table->columns) {
      if (column.type != schema::Type::text) continue;
      const std::string name = std::string(table->name) + "." + std::string(column.name);
      const Content content = content_of(table->name, column.name);
      INFO(name);
      CHECK((content == Content::text || content == Content::words || content == Content::secret));
      if (content == Content::secret) go.insert(name);
      if (content == Content::words) words.insert(name);
    }
  }
  // A new one has to be put into one of these, and into privacy.cpp if it is to stay.
  CHECK(go == std::set<std::string>{"METRIC_GROUP.scope", "NVTX_PAYLOAD.textValue",
                                    "PROCESS.command_line", "PROCESS.cupti_path",
                                    "PROCESS.executable", "PROCESS.job", "STACK_FRAME.module"});
  CHECK(words == std::set<std::string>{
                     "CLOCK.moment", "DIAGNOSTIC.severity", "DIAGNOSTIC.statistic",
                     "DIAGNOSTIC.text", "METRIC_GROUP.mode", "METRIC_RANGE.kind", "NVTX_RANGE.kind",
                     "PM_GAP.reason", "PROCESS.jobLauncher", "STATISTIC.severity"});
}

TEST_CASE("what nobody knows does not stay") {
  CHECK(content_of("OF_MINE", "a") == Content::secret);
  CHECK(content_of("CUPTI_ACTIVITY_KIND_MEMCPY", "userName") == Content::secret);
  CHECK(content_of("CUPTI_ACTIVITY_KIND_EVENT", "userName") == Content::secret);
  CHECK(content_of("PROCESS", "user_name") == Content::secret);
  CHECK(content_of("PROCESS", "processId") == Content::plain);
  CHECK(content_of("cupti_activity_kind_memcpy", "BYTES") == Content::plain);
}

TEST_CASE("of the run stays what tells of no person and no place") {
  const std::string condition = exporting::rows_that_stay("RUN");
  std::set<std::string> go;
  for (const schema::KeyDoc& key : schema::run_keys) {
    if (condition.find("'" + std::string(key.key) + "'") == condition.npos) go.emplace(key.key);
  }
  CHECK(go == std::set<std::string>{"command_line", "gpuprof_command_line", "working_directory",
                                    "host_name", "boot_id", "environment", "imported_from",
                                    "derived_from", "written_because"});
}
