// The definitions as SQLite sees them: they parse, and the old tools' traps are not in them.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <map>
#include <set>

#include "schema/document.hpp"
#include "tests/schema/database_fixture.hpp"
#include "tests/schema/nvprof_facts.hpp"

using namespace gpuprof::schema;

namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

bool contains(const std::string& text, const char* word) {
  return text.find(word) != std::string::npos;
}

}  // namespace

TEST_CASE("every table ends with the process, once") {
  Database database;
  for (const KindRef& kind : kinds) {
    const std::string name(kind.table->name);
    const auto columns = database.column("SELECT name FROM pragma_table_info('" + name + "')");
    INFO(name);
    CHECK(columns.front() == "_id_");
    CHECK(std::count(columns.begin(), columns.end(), "processId") == 1);
    CHECK(columns.size() ==
          kind.table->columns.size() + (has_column(*kind.table, process_column) ? 1 : 2));
  }
}

// It asks every table whose text has these words for min(start), max(end) or min(timestamp).
TEST_CASE("the Visual Profiler finds the columns it takes for times") {
  Database database;
  for (const auto& row :
       database.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql <> ''")) {
    const std::string& name = row[0];
    const std::string sql = lower(row[1]);
    INFO(name);
    if (contains(sql, "start") && contains(sql, "end"))
      CHECK(database.rows("SELECT min(start), max(end) FROM " + name).size() == 1);
    if (contains(sql, "timestamp"))
      CHECK(database.rows("SELECT min(timestamp), max(timestamp) FROM " + name).size() == 1);
  }
}

// It asks them all in one SQL text, in a buffer of 4096 bytes without a check.
TEST_CASE("the Visual Profiler's question for the time range fits its buffer") {
  constexpr std::string_view span =
      "SELECT min(nullif(start, -1 * (abs(start)))) AS mn, max(end) AS mx FROM ";
  constexpr std::string_view moment =
      "SELECT min(nullif(timestamp, -1 * (abs(timestamp)))) AS mn, max(timestamp) AS mx FROM ";
  constexpr std::string_view between = " UNION ALL ";
  Database database;
  std::set<std::string> nvprofs;
  for (const nvprof_facts::Table& table : nvprof_facts::tables()) nvprofs.insert(table.name);
  std::size_t size = 0;
  for (const auto& row :
       database.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql <> ''")) {
    const std::string& name = row[0];
    const std::string sql = lower(row[1]);
    INFO(name);
    const bool has_span = contains(sql, "start") && contains(sql, "end");
    const bool has_moment = contains(sql, "timestamp");
    if (has_span) size += span.size() + name.size() + between.size();
    if (has_moment) size += moment.size() + name.size() + between.size();
    if (has_span || has_moment) CHECK(nvprofs.contains(name));
  }
  CHECK(size > 2500);
  CHECK(size <= 4050);
}

// What nvprof has tables for that nothing of ours fills.
bool is_empty_view(const std::string& name) {
  return name.starts_with("coll") || name.starts_with("prof") || name.starts_with("PTHREAD_") ||
         name.starts_with("CUPTI_ACTIVITY_KIND_INSTANTANEOUS_") ||
         name == "CUPTI_ACTIVITY_KIND_PREEMPTION" ||
         name == "CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION" ||
         name == "CUPTI_ACTIVITY_KIND_EVENT_INSTANCE" ||
         name == "CUPTI_ACTIVITY_KIND_METRIC_INSTANCE";
}

// As a copy of nvprof's own file has them: tables, also where ours are views.
void make_tables_of_views(Database& database) {
  for (const Table& table : legacy::tables) {
    if (!table.is_view) continue;
    database.run("DROP VIEW " + std::string(table.name));
    database.run(create_nvprof_table_sql(table));
  }
}

// In other letters, so that nvprof does not find it: see schema/pc_sampling.hpp.
const std::string hidden = "CUPTI_ACTIVITY_KIND_PC_SAMPLING";

TEST_CASE("a file has all tables of nvprof, and none that makes it print more") {
  Database database;
  std::map<std::string, std::string> ours;
  for (const auto& row : database.rows("SELECT name, type FROM sqlite_master")) {
    ours[row[0]] = row[1];
  }
  for (const nvprof_facts::Table& table : nvprof_facts::tables()) {
    INFO(table.name);
    if (table.name == hidden) {
      CHECK(!ours.contains(hidden));
      CHECK(database.rows("SELECT count(*) FROM " + hidden)[0][0] == "0");
      continue;
    }
    CHECK(ours[table.name] == (is_empty_view(table.name) ? "view" : "table"));
  }
}

TEST_CASE("nvprof's tables have nvprof's columns") {
  Database database;
  for (const nvprof_facts::Table& table : nvprof_facts::tables()) {
    std::vector<std::string> names;
    for (const auto& column : table.columns) names.push_back(column.name);
    auto ours = database.column("SELECT name FROM pragma_table_info('" + table.name + "')");
    REQUIRE(ours.size() >= names.size());
    ours.resize(names.size());
    INFO(table.name);
    CHECK(ours == names);
  }
  make_tables_of_views(database);  // a view declares no types
  for (const nvprof_facts::Table& table : nvprof_facts::tables()) {
    const auto rows =
        database.rows("SELECT name, type FROM pragma_table_info('" + table.name + "')");
    REQUIRE(rows.size() >= table.columns.size());
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      INFO(table.name << "." << table.columns[i].name);
      CHECK(rows[i][0] == table.columns[i].name);
      CHECK(rows[i][1] == table.columns[i].declared_type);
    }
  }
}

TEST_CASE("nvprof's indexes can be made") {
  Database database;
  make_tables_of_views(database);
  for (const Index& index : indexes) database.run(create_index_sql(index));
  std::set<std::string> ours;
  for (const auto& row : database.rows("SELECT m.name, m.tbl_name, i.name FROM sqlite_master AS m, "
                                       "pragma_index_info(m.name) AS i WHERE m.type = 'index' "
                                       "AND m.name LIKE 'INDEX_%'"))
    ours.insert(lower(row[0] + " " + row[1] + " " + row[2]));
  std::set<std::string> theirs;
  for (const auto& index : nvprof_facts::indexes())
    theirs.insert(lower(index.name + " " + index.table + " " + index.column));
  CHECK(ours == theirs);
}

TEST_CASE("views run on an empty database and document each of their columns") {
  Database database;
  std::vector<std::string> documented;
  for (const ViewSql& sql : views()) {
    const ViewText view = describe_view(sql.sql);
    INFO(sql.name);
    CHECK(lower(std::string(sql.name)).ends_with("_" + lower(view.name)));
    CHECK_FALSE(view.doc.empty());
    CHECK(database.rows("SELECT * FROM " + view.name).empty());
    std::vector<std::string> names;
    for (const ViewColumn& column : view.columns) {
      INFO(column.name);
      names.push_back(column.name);
      CHECK_FALSE(column.doc.empty());
      CHECK(std::set<std::string>{"TEXT", "INTEGER", "REAL", "ANY"}.count(column.type) == 1);
      CHECK((column.unit.empty() || is_unit(column.unit)));
      if (column.type == "TEXT") CHECK(column.unit.empty());
    }
    CHECK(database.column("SELECT name FROM pragma_table_info('" + view.name + "')") == names);
    documented.push_back(view.name);
  }
  auto there = database.column("SELECT name FROM sqlite_master WHERE type = 'view'");
  std::sort(there.begin(), there.end());
  std::sort(documented.begin(), documented.end());
  for (const Table& table : legacy::tables) {
    if (table.is_view) std::erase(there, table.name);
  }
  CHECK(there == documented);
}

TEST_CASE("what SQLite 3.22 cannot parse is not in a view") {
  for (const ViewSql& sql : views()) {
    const std::string text = lower(std::string(sql.sql));
    INFO(sql.name);
    for (const char* word :
         {" over (", " over(", "filter (", "filter(", "iif(", "materialized", "generated", "strict",
          "returning", "->", "nulls last", "nulls first", "right join", "full join", "is distinct"})
      CHECK_FALSE(contains(text, word));
  }
}

TEST_CASE("every table, view and column of a file has its doc") {
  Database database;
  std::set<std::string> documented;
  for (const DocRow& row : doc_rows()) {
    INFO(row.table << "." << row.column);
    CHECK_FALSE(row.doc.empty());
    CHECK(documented.insert(row.table + "." + row.column).second);
  }
  for (const std::string& name :
       database.column("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")) {
    INFO(name);
    CHECK(documented.count(name + ".") == 1);
    bool legacy = false;
    for (const Table& table : legacy::tables) legacy |= table.name == name;
    if (legacy) continue;
    for (const std::string& column :
         database.column("SELECT name FROM pragma_table_info('" + name + "')")) {
      INFO(column);
      CHECK(documented.count(name + "." + column) == 1);
    }
  }
}

TEST_CASE("a view is stored without what SQL does not need") {
  const ViewSql view{"10_v",
                     "-- What.\n--\n-- b TEXT: one\nCREATE VIEW v AS\nSELECT a.b AS b,  -- why\n"
                     "       'x  , y' AS c, a.d - 1 AS \"e f\", x.g AS h\nFROM t AS a;\n"};
  CHECK(create_view_sql(view) ==
        "CREATE VIEW v AS SELECT a.b,'x  , y' AS c,a.d-1 AS \"e f\",x.g AS h FROM t a;");
}

TEST_CASE("a view's comment is read as its documentation") {
  const ViewText view = describe_view(
      "-- What it is,\n-- on two lines.\n--\n-- a TEXT: first\n-- b INTEGER [ns]: second: with "
      "a colon\n--   and more\n"
      "CREATE VIEW v AS SELECT 1 AS a, 2 AS b;\n");
  CHECK(view.name == "v");
  CHECK(view.doc == "What it is, on two lines.");
  REQUIRE(view.columns.size() == 2);
  CHECK(view.columns[0].name == "a");
  CHECK(view.columns[0].type == "TEXT");
  CHECK(view.columns[0].unit.empty());
  CHECK(view.columns[0].doc == "first");
  CHECK(view.columns[1].name == "b");
  CHECK(view.columns[1].type == "INTEGER");
  CHECK(view.columns[1].unit == "ns");
  CHECK(view.columns[1].doc == "second: with a colon and more");
}

TEST_CASE("a column's unit is read out of its doc as it is written, and written again") {
  constexpr Column timed = stored("start", Type::u64, "[ns] when it began");
  static_assert(timed.unit == "ns");
  CHECK(timed.doc == "when it began");
  CHECK(written_doc(timed) == "[ns] when it began");
  constexpr Column plain = stored("name", Type::text, "what it is called");
  CHECK(plain.unit.empty());
  CHECK(written_doc(plain) == "what it is called");
  // Docs come from streams too: what is no unit of ours stays text.
  for (const char* text : {"[parsec] far", "[ns]", "[ns]x", "[", "", "[] x", "a [ns] b"}) {
    INFO(text);
    CHECK(read_doc(text).unit.empty());
    CHECK(read_doc(text).text == text);
  }
}

TEST_CASE("a unit is said once, beside the doc") {
  std::set<std::string> used;
  for (const DocRow& row : doc_rows()) {
    INFO(row.table << "." << row.column << ": " << row.doc);
    if (!row.unit.empty()) used.insert(row.unit);
    CHECK_FALSE(row.doc.starts_with("["));
    for (const char* unit : {"ns", "us", "ms", "bytes", "kB/s", "GT/s", "kHz", "MHz", "mW"}) {
      for (const char* behind : {" on CUPTI", " since", ";", ","}) {
        CHECK_FALSE(contains(row.doc, (", " + std::string(unit) + behind).c_str()));
      }
      CHECK_FALSE(row.doc.ends_with(", " + std::string(unit)));
      CHECK(row.doc != unit);
    }
  }
  for (const std::string_view unit : units) {
    INFO(unit);
    CHECK(used.count(std::string(unit)) == 1);
  }
}

TEST_CASE(
    "views declare the types of their columns, large ones of those that may be NULL at first") {
  // In these a declared type costs: they are read row by row, and have most of a run's rows.
  const std::set<std::string> large{
      "kernels",    "memcpys",       "memsets",        "gpu_activities",  "launches",
      "api_calls",  "kernel_pm",     "pm_samples",     "nvtx_gpu",        "nvtx_ranges",
      "nvtx_marks", "nvtx_payloads", "kernel_metrics", "memory_timeline", "kernel_memory"};
  // These are not NULL in the first row, but in the file of a target that was killed: start, end
  // and what is computed of them.
  const std::set<std::string> known{
      "name",      "short_name",  "display_name",  "grid",       "block",        "blocks",
      "threads",   "start",       "end",           "duration",   "t_ms",         "launch_type",
      "kind",      "throughput",  "src_memory",    "dst_memory", "memory",       "is_async",
      "api_name",  "api_domain",  "api_start",     "api_end",    "api_duration", "launch_latency",
      "thread_id", "queue_delay", "domain",        "host_ms",    "change",       "gpu_busy_ms",
      "type",      "graph_id",    "graph_node_id", "value"};
  Database database;
  std::set<std::string> found;
  for (const ViewSql& sql : views()) {
    const ViewText view = describe_view(sql.sql);
    const std::vector<std::string> types = database.declared_types("SELECT * FROM " + view.name);
    REQUIRE(types.size() == view.columns.size());
    const bool is_large = large.count(view.name) == 1;
    for (std::size_t i = 0; i < types.size(); ++i) {
      const ViewColumn& column = view.columns[i];
      INFO(view.name << "." << column.name << " is declared " << types[i]);
      if (column.type == "ANY") {
        CHECK(types[i].empty());
      } else if (types[i].empty()) {
        CHECK(is_large);
        CHECK(known.count(column.name) == 1);
      } else {
        CHECK((types[i] == "INT" ? "INTEGER" : types[i]) == column.type);
      }
    }
    if (is_large) found.insert(view.name);
  }
  CHECK(found == large);
}

TEST_CASE("what to look at first are views, each once") {
  std::size_t place = 0;
  for (const DocRow& row : doc_rows_to_look_at_first()) {
    CHECK(row.look_first == ++place);
    CHECK(row.is_view);
  }
  CHECK(place == std::size(look_first));
}

TEST_CASE("the Markdown page names every table, view and column") {
  const std::string text = schema_markdown();
  for (const DocRow& row : doc_rows()) {
    INFO(row.table << "." << row.column);
    CHECK(contains(text, row.table.c_str()));
    if (!row.column.empty()) CHECK(contains(text, ("`" + row.column + "`").c_str()));
  }
  CHECK_FALSE(contains(text, "\n\n\n"));
  CHECK(text.back() == '\n');
}
