#include "libprof/exchange/export/excerpt.hpp"

#include <algorithm>
#include <limits>

#include "libprof/base/letter_case.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/memory/process_memory.hpp"
#include "libprof/exchange/export/privacy.hpp"
#include "libprof/exchange/export/table_rules.hpp"
#include "libprof/read/clocks.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/nvtx_payloads.hpp"
#include "libprof/store/nvtx_ranges.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/derived_on_demand.hpp"
#include "schema/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::exporting {
namespace {

using reading::kind_of;
using reading::SchemaObject;
using store::Database;
using store::quoted_name;

class Copier {
 public:
  Copier(Database& source, const std::string& path, const ExcerptOptions& options,
         const std::function<void(std::string_view)>& progress)
      : source_(source),
        out_(path, Database::Mode::create, {.shown_as = options.name}),
        options_(options),
        progress_(progress) {}

  Excerpt copy(const std::function<bool()>& stop) {
    set_up();
    if (stop) out_.watch(stop);
    out_.execute("BEGIN");
    if (options_.until) until_ = reading::on_cuptis_clock(source_, *options_.until);
    objects_ = reading::read_schema(out_, "source");
    ours_ = is_in_source("RUN") && is_in_source("STATISTIC_DOC");
    if (ours_ && options_.anonymise) store::create_words(out_);
    for (const SchemaObject& object : objects_) {
      if (object.type == "table" && !leaves_no_table(object.name)) make_table(object);
      if (object.type == "virtual table" || object.type == "trigger") leave_out(object);
    }
    find_window();
    copy_in_order();
    add_missing_tables();
    if (options_.change) options_.change(out_);
    make_others();
    if (ours_) complete_our_own();
    progress_("writing");
    out_.execute("COMMIT");
    if (ours_) derive_anew(stop);
    if (!ours_ && options_.finish) finish_foreign();
    store::use_small_pages(out_);
    return std::move(result_);
  }

 private:
  enum class Rule {
    nothing,
    whole,
    window,
    calls,
    correlated,
    measured,
    values,
    markers,
    marker_data,
    strings,  // those referenced by what was kept
  };

  struct Table {
    std::string name;
    std::set<std::string, NameLess> columns;
    bool computes = false;  // has computed columns
    Rule rule = Rule::whole;
    bool has(std::string_view column) const { return columns.contains(column); }
    // The column of the row's begin; "" if there are no times.
    std::string time() const {
      for (const std::string_view column : schema::begin_columns) {
        if (has(column)) return std::string(column);
      }
      return {};
    }
  };

  void set_up() {
    out_.execute("PRAGMA page_size = " + setting("page_size"));
    out_.execute("PRAGMA encoding = '" + source_.text("PRAGMA encoding").value_or("UTF-8") + "'");
    // Nobody sees the file before it is complete.
    out_.execute("PRAGMA journal_mode = OFF");
    out_.execute("PRAGMA synchronous = NORMAL");
    out_.execute("PRAGMA cache_size = -65536");
    out_.execute("PRAGMA temp_store = FILE");
    out_.execute("PRAGMA user_version = " + setting("user_version"));
    out_.execute("PRAGMA application_id = " + setting("application_id"));
    out_.attach(source_, "source");
  }

  std::string setting(const std::string& name) {
    return std::to_string(source_.integer("PRAGMA " + name).value_or(0));
  }

  bool is_kept(std::string_view table) const {
    if (options_.anonymise && is_cpu_sampling(table)) return false;
    if (!options_.keep) return true;
    if (is_computed_from_markers(table)) return options_.keep->contains(std::string(marker_table));
    if (same_name(table, metric_range_table) || same_name(table, metric_value_table)) {
      return options_.keep->contains("CUPTI_ACTIVITY_KIND_METRIC");
    }
    return !holds_records(table) || options_.keep->contains(std::string(table));
  }

  // nvprof prints a section on CPU sampling if there are tables for it, even empty ones.
  bool leaves_no_table(std::string_view table) const {
    return is_cpu_sampling(table) && !is_kept(table);
  }

  void leave_out(const SchemaObject& object) {
    result_.left_out.push_back("the " + object.type + " " + object.name);
  }

  // For an anonymized table: uses our own SQL, with known columns only. False: the table itself is
  // unknown.
  bool make_own_table(const SchemaObject& object) {
    const auto sql = store::own_table_sql(object.name, ours_, [&](std::string_view column) {
      return out_.has_column(object.name, column, "source");
    });
    if (sql) out_.execute(*sql);
    return sql.has_value();
  }

  void make_table(const SchemaObject& object) {
    if (ours_ && is_derived(object.name)) return;  // recomputed, and created as in this build
    if (!(options_.anonymise ? make_own_table(object)
                             : out_.make(object.type, object.name, object.sql))) {
      refused_.insert(object.name);
      return leave_out(object);
    }
    Table table;
    table.name = object.name;
    for (Database::Column& column : out_.columns(object.name)) {
      table.computes |= column.computed;
      if (!column.computed) table.columns.insert(std::move(column.name));
    }
    table.rule = rule(table);
    tables_.push_back(std::move(table));
  }

  Rule rule(const Table& table) const {
    const std::string_view kind = kind_of(table.name);
    if (!is_kept(table.name) || is_derived(table.name)) return Rule::nothing;
    if (options_.anonymise && is_made_of_words(table.name)) return Rule::nothing;
    if (options_.anonymise && same_name(table.name, "StringTable")) return Rule::strings;
    if (!has_window()) return Rule::whole;
    const bool is_marker = table.has("flags") && table.has("id") && table.has("timestamp");
    if (is_computed_from_markers(table.name)) {
      return table.has("id") ? Rule::marker_data : Rule::whole;
    }
    if (same_name(table.name, metric_range_table) && table.has("start")) return Rule::measured;
    if (same_name(table.name, metric_value_table)) return Rule::values;
    const bool sampled =
        same_name(table.name, pm_sample_table) || same_name(table.name, pm_gap_table);
    if (sampled && table.has("start")) return Rule::window;
    if (kind.empty() || is_always_kept(table.name)) return Rule::whole;
    if (same_name(kind, "MARKER") && is_marker) return Rule::markers;
    if (same_name(kind, "MARKER_DATA") && table.has("id")) return Rule::marker_data;
    const bool correlated = table.has("correlationId");
    if (is_api_kind(kind) && table.has("start") && correlated) return Rule::calls;
    if (!table.time().empty()) return Rule::window;
    return correlated ? Rule::correlated : Rule::whole;
  }

  bool has_window() const { return options_.from.given() || options_.to.given() || until_; }

  void find_window() {
    reading::Tables tables(out_, "source");
    const reading::Window window = reading::find_window(tables, options_.from, options_.to, [&] {
      progress_("looking for the first record");
      return reading::zero_of_run(tables).value_or(0);
    });
    // Records without a time have 0 there.
    const bool without_times = !options_.from.given() && !options_.to.given();
    from_ = without_times ? 0 : std::max<std::int64_t>(1, window.from.value_or(1));
    to_ = std::min(window.to.value_or(to_), until_.value_or(to_));
  }

  std::string in_window(const std::string& column) const {
    return "(" + column + " >= " + std::to_string(from_) + " AND " + column + " < " +
           std::to_string(to_) + ")";
  }

  // GPU work before the calls that requested it; records without times after those they belong to.
  void copy_in_order() {
    out_.execute("CREATE TEMP TABLE kept_id(id INTEGER PRIMARY KEY)");
    for (const Table& table : tables_) {
      if (table.rule == Rule::whole || table.rule == Rule::window) copy_table(table);
      if (table.rule == Rule::window && is_gpu_kind(kind_of(table.name))) {
        keep_ids(table);
        if (from_ > 0) count_without_times(table);
      }
    }
    for (const Table& table : tables_) {
      if (table.rule == Rule::calls) copy_table(table);
    }
    const auto correlated = [](const Table& table) {
      return table.rule == Rule::correlated || table.rule == Rule::measured;
    };
    if (std::ranges::any_of(
            tables_, [&](const Table& table) { return correlated(table) && has_rows(table); })) {
      for (const Table& table : tables_) {
        if (table.rule == Rule::calls) keep_ids(table);
      }
      for (const Table& table : tables_) {
        if (correlated(table)) copy_table(table);
      }
      for (const Table& table : tables_) {
        if (table.rule == Rule::values) copy_table(table);
      }
    }
    for (const Table& table : tables_) {
      if (table.rule == Rule::markers) find_markers(table);
    }
    for (const Table& table : tables_) {
      if (table.rule == Rule::markers || table.rule == Rule::marker_data) copy_table(table);
    }
    out_.execute("DROP TABLE temp.kept_id");
    for (const Table& table : tables_) {
      if (table.rule != Rule::strings) continue;
      find_strings();
      copy_table(table);
    }
  }

  // Copies only what may stay, so that nothing secret was ever in the new file's pages.
  void find_strings() {
    progress_("looking for strings");
    out_.execute("CREATE TEMP TABLE kept_string(id INTEGER PRIMARY KEY)");
    for (const Table& table : tables_) {
      for (const std::string& column : table.columns) {
        if (content_of(table.name, column) != Content::string) continue;
        out_.execute("INSERT OR IGNORE INTO temp.kept_string SELECT " + quoted_name(column) +
                     " FROM main." + quoted_name(table.name) + " WHERE " + quoted_name(column) +
                     " <> 0");
      }
    }
  }

  void copy_table(const Table& table) {
    progress_("copying " + table.name);
    const std::string name = quoted_name(table.name);
    std::string condition;
    switch (table.rule) {
      case Rule::nothing: return;
      case Rule::whole: break;
      case Rule::window: condition = in_window(table.time()); break;
      case Rule::calls:
        condition = in_window("start") + " OR correlationId IN (SELECT id FROM temp.kept_id)";
        break;
      case Rule::correlated: condition = "correlationId IN (SELECT id FROM temp.kept_id)"; break;
      case Rule::measured:
        condition = "CASE WHEN correlationId IS NULL THEN " + in_window("start") +
                    " ELSE correlationId IN (SELECT id FROM temp.kept_id) END";
        break;
      case Rule::values: condition = "range IN (SELECT _id_ FROM main.METRIC_RANGE)"; break;
      case Rule::markers:
      case Rule::marker_data:
        if (!have_markers_) break;
        condition = "EXISTS (SELECT 1 FROM temp.kept_marker k WHERE k.process = " + process(table) +
                    " AND k.id = " + name + ".id)";
        break;
      case Rule::strings:
        condition = "_id_ IN (SELECT id FROM temp.kept_string) OR value = '" +
                    std::string(schema::null_string) + "'";
        break;
    }
    if (const std::string stay = options_.anonymise ? rows_that_stay(table.name) : "";
        !stay.empty()) {
      condition = condition.empty() ? stay : "(" + condition + ") AND " + stay;
    }
    std::string list, values;
    for (const Database::Column& column : out_.columns(table.name)) {
      if (column.computed) continue;
      list += (list.empty() ? "" : ", ") + quoted_name(column.name);
      values +=
          (values.empty() ? "" : ", ") +
          (options_.anonymise ? what_stays(table.name, column.name) : quoted_name(column.name));
    }
    // All columns of all rows: SQLite then copies rows without decoding them.
    const bool as_they_are = condition.empty() && !table.computes && values == list;
    // A row whose key was removed is dropped.
    const std::string insert = options_.anonymise ? "INSERT OR IGNORE INTO" : "INSERT INTO";
    try {
      out_.execute(insert + " main." + name + (as_they_are ? "" : "(" + list + ")") + " SELECT " +
                   (as_they_are ? "*" : values) + " FROM source." + name +
                   (condition.empty() ? "" : " NOT INDEXED WHERE " + condition));
    } catch (const store::DatabaseError& error) {
      // Rows of an undamaged table have unique keys.
      if (std::string_view(error.what()).find("UNIQUE constraint failed") == std::string::npos)
        throw;
      throw store::DatabaseError(
          "the file is damaged: rows of " + table.name + " have the same key", "",
          ExitCode::import_failed, store::DatabaseError::Kind::damaged);
    }
    if (!kind_of(table.name).empty()) {  // as read/record_count.hpp counts them
      result_.kept += out_.integer("SELECT changes()").value_or(0);
    }
  }

  bool has_rows(const Table& table) {
    return out_.prepare("SELECT 1 FROM source." + quoted_name(table.name) + " LIMIT 1").step();
  }

  void keep_ids(const Table& table) {
    if (!table.has("correlationId")) return;
    out_.execute("INSERT OR IGNORE INTO temp.kept_id SELECT correlationId FROM main." +
                 quoted_name(table.name) + " NOT INDEXED WHERE correlationId <> 0");
  }

  void count_without_times(const Table& table) {
    result_.without_times +=
        out_.integer("SELECT count(*) FROM source." + quoted_name(table.name) + " WHERE start = 0")
            .value_or(0);
  }

  // A range's id is unique only within its process.
  static std::string process(const Table& table) {
    return table.has("processId") ? "coalesce(processId, 0)" : "0";
  }

  // Marks in the window, and ranges that overlap it. A range that was never closed extends
  // indefinitely.
  void find_markers(const Table& table) {
    progress_("looking for NVTX ranges");
    const std::string from = std::to_string(from_), to = std::to_string(to_);
    out_.execute(
        "CREATE TEMP TABLE kept_marker(process INT, id INT, PRIMARY KEY(process, id)) "
        "WITHOUT ROWID");
    out_.execute("INSERT OR IGNORE INTO temp.kept_marker SELECT process, id FROM (SELECT " +
                 process(table) +
                 " AS process, id, min(CASE WHEN flags & 2 THEN timestamp END) AS opened, "
                 "max(CASE WHEN flags & 4 THEN timestamp END) AS closed, "
                 "max(flags & 6 = 0 AND " +
                 in_window("timestamp") + ") AS marked FROM source." + quoted_name(table.name) +
                 " GROUP BY 1, 2) WHERE marked OR CASE WHEN opened IS NULL THEN " +
                 in_window("closed") + " ELSE opened < " + to +
                 " AND (closed IS NULL OR closed > " + from + " OR opened >= " + from + ") END");
    have_markers_ = true;
  }

  static bool is_derived(std::string_view name) {
    const auto is_it = [&](const schema::Table* table) { return same_name(table->name, name); };
    return std::ranges::any_of(schema::tables::derived, is_it) ||
           std::ranges::any_of(schema::tables::derived_on_demand, is_it);
  }

  // Tables of this build's own words: the excerpt already has them, or nothing belongs there.
  static bool is_made_of_words(std::string_view name) {
    return !same_name(name, schema::tables::api_name.name) &&
           std::ranges::any_of(schema::own_tables, [&](const schema::Table* table) {
             return table->origin == schema::Origin::words && same_name(table->name, name);
           });
  }

  bool is_in_source(std::string_view name) const {
    return !refused_.contains(name) && find_named(objects_, name);
  }

  // nvprof needs the table of devices, and tools need the others.
  void add_missing_tables() {
    constexpr int last_of_nvprof = 52;
    for (const schema::Table* table : schema::all_tables) {
      const bool kind = table->kind > 0 && table->kind <= last_of_nvprof;
      const bool nvprofs = kind || table->name == "Version" || table->name == "StringTable";
      if ((nvprofs && !is_in_source(table->name)) || (ours_ && is_derived(table->name)))
        out_.execute(schema::create_table_sql(*table));
    }
    // From an older gpuprof: the current views need the column.
    if (ours_ && out_.has_column("StringTable", "demangled") &&
        !out_.has_column("StringTable", "display")) {
      out_.execute("ALTER TABLE main.StringTable ADD COLUMN display TEXT");
    }
    if (!is_in_source("StringTable")) {
      out_.execute("INSERT INTO StringTable(_id_, value) VALUES(0, '" +
                   std::string(schema::null_string) + "')");
    }
    if (out_.has_table("Version") && !out_.integer("SELECT * FROM Version")) {
      out_.execute("INSERT INTO Version VALUES(" + std::to_string(schema::nvprof_version) + ")");
    }
  }

  // Computed from what is in the excerpt.
  void derive_anew(const std::function<bool()>& stop) {
    if (!out_.has_column("NVTX_RANGE", "stop")) {  // from gpuprof 0.1.0
      progress_("making indexes");
      return store::create_indexes(out_, indexes_);
    }
    const std::string problem = compute::compute(out_, {.indexes = indexes_,
                                                        .stop = stop,
                                                        .progress = progress_,
                                                        .timeline = options_.timeline,
                                                        .more = memory::write_process_memory});
    if (!problem.empty()) throw Error(problem);
  }

  // For a file of nvprof's.
  void finish_foreign() {
    progress_("making indexes");
    store::create_indexes(out_, schema::indexes);
    result_.not_computed =
        "it is not a file of gpuprof's: indexes were made, but it has no tables for the ranges of "
        "launches, the times of devices and their gaps";
  }

  void complete_our_own() {
    for (const auto& [key, text] : {std::pair("derived_from", options_.command),
                                    std::pair("written_because", options_.why)}) {
      if (text.empty()) continue;
      out_.prepare("INSERT OR REPLACE INTO RUN VALUES(?1, ?2)").bind(1, key).bind(2, text).run();
    }
    // The writer of an unfinished file was killed before it did this.
    if (out_.text("SELECT value FROM RUN WHERE key = 'finished'") != "0") return;
    progress_("pairing NVTX ranges");
    store::compute_nvtx_ranges(out_);
    store::compute_nvtx_payloads(out_);
    indexes_.assign(schema::indexes.begin(), schema::indexes.end());
    // A run that had to hurry has all its records.
    if (out_.text("SELECT value FROM RUN WHERE key = 'not_computed'")) {
      out_.execute("UPDATE RUN SET value = 1 WHERE key = 'finished'");
      out_.execute("DELETE FROM RUN WHERE key = 'not_computed'");
    }
  }

  void make_others() {
    progress_("making indexes");
    for (const std::string_view type : {"index", "view"}) {
      for (const SchemaObject& object : objects_) {
        if (object.type != type || (ours_ && make_own_view(object))) continue;
        if (ours_ && will_be_made(object)) continue;
        if (options_.anonymise) {
          if (!make_own_index(object)) leave_out(object);
        } else if (!out_.make(object.type, object.name, object.sql)) {
          leave_out(object);
        }
      }
    }
  }

  // Whether it is one of nvprof's indexes in one of our files, created once all rows are there. For
  // a table without rows it costs nothing.
  bool will_be_made(const SchemaObject& object) {
    if (object.type != "index") return false;
    for (const schema::Index& index : schema::indexes) {
      const std::string table(index.table);
      if (!same_name(object.name, "INDEX_" + table)) continue;
      if (!out_.has_column(table, index.column)) return false;
      if (!out_.integer("SELECT 1 FROM main." + table + " LIMIT 1")) return false;
      indexes_.push_back(index);
      return true;
    }
    return false;
  }

  // Uses our own SQL: the file's may say anything. False: neither ours nor nvprof's.
  bool make_own_index(const SchemaObject& object) {
    const auto own =
        object.type == "index" ? store::own_sql("index", object.name, ours_) : std::nullopt;
    return own && out_.make("index", object.name, store::ForeignSql(*own));
  }

  // The view as in this build. False: it is not ours, or needs something that the file's tables
  // lack.
  bool make_own_view(const SchemaObject& object) {
    const auto own =
        object.type == "view" ? store::own_sql("view", object.name, true) : std::nullopt;
    if (!own || out_.has_table(object.name)) return false;
    out_.execute(*own);
    try {
      out_.prepare("SELECT * FROM " + quoted_name(object.name));
      return true;
    } catch (const store::DatabaseError& error) {
      if (error.kind() != store::DatabaseError::Kind::missing) throw;
      out_.execute("DROP VIEW " + quoted_name(object.name));
      return false;
    }
  }

  Database& source_;
  Database out_;
  const ExcerptOptions& options_;
  const std::function<void(std::string_view)>& progress_;
  std::vector<SchemaObject> objects_;
  std::vector<Table> tables_;
  std::set<std::string, NameLess> refused_;
  bool ours_ = false;                  // the source is a gpuprof file
  std::optional<std::int64_t> until_;  // on CUPTI's clock
  std::int64_t from_ = 1;
  std::int64_t to_ = std::numeric_limits<std::int64_t>::max();
  bool have_markers_ = false;
  std::vector<schema::Index> indexes_;  // created at the end
  Excerpt result_;
};

}  // namespace

Excerpt write_excerpt(Database& source, const std::string& path, const ExcerptOptions& options,
                      const std::function<void(std::string_view)>& progress,
                      const std::function<bool()>& stop) {
  return Copier(source, path, options, progress).copy(stop);
}

}  // namespace gpuprof::exporting
