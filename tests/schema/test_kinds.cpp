// What holds for the block of every activity kind.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <set>
#include <string>

#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/enums.hpp"
#include "schema/statistics.hpp"
#include "schema/tables.hpp"
#include "tests/schema/nvprof_facts.hpp"

using namespace gpuprof::schema;

namespace {

bool is_integer(Type type) { return type >= Type::i8 && type <= Type::u64; }

const Table* find_table(std::string_view name) {
  for (const KindRef& kind : kinds) {
    if (kind.table->name == name) return kind.table;
  }
  return nullptr;
}

// Words after "enum" in a doc.
std::vector<std::string> enums_in(std::string_view doc) {
  std::vector<std::string> found;
  constexpr std::string_view word = "enum ";
  while (true) {
    const std::size_t at = doc.find(word);
    if (at == std::string_view::npos) return found;
    doc.remove_prefix(at + word.size());
    std::size_t end = 0;
    while (end < doc.size() &&
           (std::isalnum(static_cast<unsigned char>(doc[end])) || doc[end] == '_'))
      ++end;
    found.emplace_back(doc.substr(0, end));
  }
}

}  // namespace

TEST_CASE("kinds have numbers, names and groups of their own") {
  std::set<int> ids;
  std::set<std::string_view> names;
  for (const KindRef& kind : kinds) {
    INFO(kind.table->name);
    CHECK(ids.insert(kind.info->id).second);
    CHECK(names.insert(kind.table->name).second);
    CHECK(kind.info->table.starts_with("CUPTI_ACTIVITY_KIND_"));
    CHECK(find_kind(kind.info->id) == &kind);
    bool known_group = false;
    for (const GroupInfo& group : groups) known_group |= group.group == kind.info->group;
    CHECK(known_group);
  }
  CHECK(find_kind(0) == nullptr);
}

TEST_CASE("each table is there once, and says where its rows come from") {
  std::set<std::string_view> names;
  std::set<int> numbers;
  for (const Table* table : all_tables) {
    INFO(table->name);
    CHECK(names.insert(table->name).second);
    CHECK_FALSE(table->doc.empty());
    CHECK_FALSE(table->columns.empty());
    if (table->kind != 0) CHECK(numbers.insert(table->kind).second);
    CHECK((table->origin == Origin::activity) == (find_table(table->name) != nullptr));
    std::set<std::string_view> columns;
    for (const Column& column : table->columns) {
      CHECK(columns.insert(column.name).second);
      CHECK(column.name != row_id);
      CHECK(column.doc.empty() == (table->origin == Origin::legacy));
    }
  }
}

TEST_CASE("every group of --trace has kinds, and a name of its own") {
  std::set<std::string_view> names;
  for (const GroupInfo& group : groups) {
    INFO(group.doc);
    if (!group.name.empty()) CHECK(names.insert(group.name).second);
    // More rows of api's, and a column of memory's.
    bool used = group.group == Group::queries || group.group == Group::allocation_source;
    for (const KindRef& kind : kinds) used |= kind.info->group == group.group;
    CHECK(used);
  }
}

TEST_CASE("columns have distinct names, docs, and the width of their type") {
  for (const KindRef& kind : kinds) {
    std::set<std::string_view> names;
    CHECK_FALSE(kind.table->doc.empty());
    for (const Column& column : kind.table->columns) {
      INFO(kind.table->name << "." << column.name);
      CHECK(names.insert(column.name).second);
      CHECK(column.name != "_id_");
      CHECK_FALSE(column.doc.empty());
      if (column.type == Type::blob)
        CHECK(column.width > 0);
      else
        CHECK(column.width == width_of(column.type));
      if (column.role == Role::correlation) CHECK(column.type == Type::u32);
      if (column.role == Role::nullable)
        CHECK((is_integer(column.type) || column.type == Type::f64));
    }
  }
}

TEST_CASE("a column called correlationId is one") {
  for (const KindRef& kind : kinds) {
    for (const Column& column : kind.table->columns) {
      INFO(kind.table->name << "." << column.name);
      if (column.name == "correlationId") CHECK(column.role == Role::correlation);
    }
  }
}

TEST_CASE("an enum that a column's doc names is in ENUM_NAME") {
  for (const KindRef& kind : kinds) {
    for (const Column& column : kind.table->columns) {
      for (const std::string& name : enums_in(column.doc)) {
        INFO(kind.table->name << "." << column.name << ": " << name);
        bool found = false;
        for (const EnumType& type : enum_types) found |= type.name == name;
        CHECK(found);
      }
    }
  }
}

TEST_CASE("every enum is named by a column's doc, and its values are distinct") {
  std::set<std::string> named;
  for (const Table* table : all_tables) {
    for (const Column& column : table->columns) {
      for (const std::string& name : enums_in(column.doc)) named.insert(name);
    }
  }
  for (const EnumType& type : enum_types) {
    INFO(type.name);
    CHECK(named.count(std::string(type.name)) == 1);
    std::set<std::int64_t> values;
    for (const EnumValue& value : type.values) {
      CHECK(values.insert(value.value).second);
      CHECK_FALSE(value.name.empty());
    }
  }
  CHECK(enum_name("CUpti_ActivityMemcpyKind", 1) == "HtoD");
  CHECK(enum_name("CUpti_ActivityMemcpyKind", 99).empty());
  CHECK(enum_name("no such enum", 1).empty());
}

TEST_CASE("nvprof's columns come first, in its order, with its names and types") {
  for (const nvprof_facts::Table& expected : nvprof_facts::tables()) {
    const Table* table = find_table(expected.name);
    if (table == nullptr) continue;
    REQUIRE(expected.columns.front().name == "_id_");
    REQUIRE(table->columns.size() + 1 >= expected.columns.size());
    for (std::size_t i = 1; i < expected.columns.size(); ++i) {
      const nvprof_facts::Column& theirs = expected.columns[i];
      const Column& ours = table->columns[i - 1];
      INFO(expected.name << "." << theirs.name << ", ours " << ours.name);
      CHECK(ours.name == theirs.name);
      CHECK(sql_type(ours.type) == theirs.declared_type);
      if (theirs.reader_type == "stringId") {
        CHECK(ours.type == Type::string);
      } else if (theirs.reader_type == "blob[None]") {
        CHECK(ours.type == Type::bytes);
      } else if (theirs.reader_type.starts_with("blob[")) {
        CHECK(ours.type == Type::blob);
        CHECK("blob[" + std::to_string(ours.width) + "]" == theirs.reader_type);
      } else {
        CHECK(is_integer(ours.type));
        // A correlation id is 32 bits in nvprof's reader and takes the low ones of ours.
        if (theirs.reader_type == "int32") CHECK(ours.width <= 4);
      }
      CHECK(ours.role != Role::nullable);
    }
  }
}

TEST_CASE("every table of nvprof's exists") {
  std::set<std::string_view> ours;
  for (const KindRef& kind : kinds) ours.insert(kind.table->name);
  for (const Table* table : all_tables) ours.insert(table->name);
  for (const nvprof_facts::Table& table : nvprof_facts::tables()) {
    INFO(table.name);
    // Of PC samples it has other letters: see schema/pc_sampling.hpp.
    const bool hidden = table.name == "CUPTI_ACTIVITY_KIND_PC_SAMPLING";
    CHECK(ours.count(hidden ? tables::pc_sampling.name : table.name) == 1);
  }
}

TEST_CASE("statistics and keys of RUN are distinct and explained") {
  std::set<std::string_view> names;
  for (const StatisticInfo& statistic : statistics) {
    INFO(statistic.name);
    CHECK(names.insert(statistic.name).second);
    CHECK(find_statistic(statistic.name) == &statistic);
    CHECK_FALSE(statistic.help.empty());
    CHECK_FALSE(severity_name(statistic.severity).empty());
  }
  CHECK(find_statistic("no such statistic") == nullptr);
  std::set<std::string_view> keys;
  for (const KeyDoc& key : run_keys) {
    INFO(key.key);
    CHECK(keys.insert(key.key).second);
    CHECK_FALSE(key.doc.empty());
  }
}

#ifdef GPUPROF_HAVE_CUPTI
TEST_CASE("every kind that CUPTI declares has a table") {
  for (int id = 1; id < CUPTI_ACTIVITY_KIND_COUNT; ++id) {
    INFO("activity kind " << id);
    CHECK(std::ranges::count(all_tables, id, &Table::kind) == 1);
  }
  for (const KindRef& kind : kinds) CHECK(kind.info->id < CUPTI_ACTIVITY_KIND_COUNT);
}

TEST_CASE("fields lie inside their record, or are computed") {
  for_each_kind([]<class K>() {
    for (const Field& field : K::fields) {
      INFO(K::info.table << "." << field.column.name);
      if (field.extract != nullptr || field.find != nullptr) {
        CHECK(field.offset == 0);
        continue;
      }
      CHECK(field.offset >= sizeof(CUpti_ActivityKind));
      const Type type = field.column.type;
      const bool pointer = type == Type::string || type == Type::bytes;
      CHECK(field.offset + (pointer ? sizeof(void*) : field.column.width) <=
            sizeof(typename K::Record));
      CHECK((type == Type::bytes) == (field.size_offset != 0));
      CHECK_FALSE(field.follows_pointer);
    }
  });
}
#endif
