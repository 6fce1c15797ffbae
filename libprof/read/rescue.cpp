#include "libprof/read/rescue.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/string_writer.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"

namespace gpuprof::reading {

using store::Database;
using store::DatabaseError;
using store::ForeignSql;
using store::own_sql;
using store::quoted_name;
using store::Statement;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

// How often a table is probed past damage before the rest is given up: ten times per page of the
// minimum size; each damaged page takes some twenty probes. A probe costs 10 us.
std::int64_t most_probes(const Database& database) { return 100'000 + database.size() / 50; }

// The rows of a table in id order, from one readable page to the next. Ids only ever increase, so
// each cell is returned at most once, however the file's pages refer to one another.
class Rows {
 public:
  // `table` and `columns` are SQL. Throws like a statement.
  Rows(Database& database, const std::string& table, const std::string& columns)
      : rows_(database.prepare(select(table, columns))),
        probe_(database.prepare(select(table, "NULL") + " LIMIT 1")),
        probes_left_(most_probes(database)) {
    rows_.bind(1, lowest);
  }

  bool step() {
    while (!done_) {
      bool nonsense = false;  // the page has ids that cannot be there
      try {
        if (!rows_.step()) return end(gap_);
        const std::int64_t id = rows_.integer(0);
        if (id >= next_) {
          met(id);
          last_ = id;
          return true;
        }
        nonsense = true;
      } catch (const DatabaseError& error) {
        if (!error.damaged()) throw;
      }
      if (!skip_damage(nonsense)) return end(true);
    }
    return false;
  }

  Statement& row() { return rows_; }  // columns from 1; 0 is the id
  std::int64_t last() const { return last_; }
  std::int64_t lost() const { return lost_; }
  bool open_ended() const { return open_ended_; }

 private:
  enum class Found { row, nothing, damage };

  static std::string select(const std::string& table, const std::string& columns) {
    return "SELECT _rowid_, " + columns + " FROM " + table +
           " NOT INDEXED WHERE _rowid_ >= ?1 ORDER BY _rowid_";
  }

  bool end(bool open_ended) {
    done_ = true;
    open_ended_ = open_ended;
    return false;
  }

  // The id expected next if none is missing; ids begin at 1.
  std::int64_t wanted() const { return last_id_ ? saturating_add(*last_id_, 1) : 1; }

  // A row with this id exists. Rows between it and the last one are lost if there was damage.
  void met(std::int64_t id) {
    if (gap_ && id > wanted()) lost_ = saturating_add(lost_, saturating_subtract(id, wanted()));
    gap_ = false;
    last_id_ = id;
    done_ = id == highest;
    next_ = saturating_add(id, 1);
  }

  // Looks for the first row from this id on, reading only its id.
  Found probe(std::int64_t from) {
    --probes_left_;
    try {
      probe_.reset();
      if (!probe_.bind(1, from).step()) return Found::nothing;
      found_ = probe_.integer(0);
      return found_ >= from ? Found::row : Found::damage;
    } catch (const DatabaseError& error) {
      if (!error.damaged()) throw;
      return Found::damage;
    }
  }

  // Moves next_ past what could not be read. False: the damage has no end, or there is too much of
  // it.
  bool skip_damage(bool nonsense) {
    rows_.reset();
    const std::int64_t begin = std::max(next_, wanted());
    switch (probe(begin)) {
      case Found::nothing: return false;
      case Found::row:
        if (nonsense && found_ > next_) {
          gap_ = true;
          next_ = found_;
        } else {  // its columns are on other, damaged pages
          met(found_);
          lost_ = saturating_add(lost_, 1);
        }
        break;
      case Found::damage:
        const auto place = next_place(begin);
        if (!place) return false;
        gap_ = true;
        next_ = *place;
        break;
    }
    if (!done_) rows_.bind(1, next_);
    return probes_left_ > 0;
  }

  // The first readable id after the damage that begins at `begin`.
  std::optional<std::int64_t> next_place(std::int64_t begin) {
    const auto readable = [&](std::int64_t id) { return probe(id) != Found::damage; };
    std::int64_t before = begin, place = begin;
    for (std::int64_t step = 1;; step *= 2) {
      place = saturating_add(begin, step);
      if (readable(place)) break;
      before = place;
      if (place == highest || step > highest / 2) return std::nullopt;
    }
    while (place - before > 1) {
      const std::int64_t middle = before + (place - before) / 2;
      (readable(middle) ? place : before) = middle;
    }
    return place;
  }

  Statement rows_, probe_;
  std::int64_t probes_left_;
  std::int64_t found_ = 0;               // found by the last probe
  std::optional<std::int64_t> last_id_;  // the last row known to exist
  std::int64_t last_ = 0;                // the last row that was read
  std::int64_t next_ = lowest;           // lowest id still to come
  std::int64_t lost_ = 0;
  bool gap_ = false;  // damage follows last_id_
  bool done_ = false;
  bool open_ended_ = false;
};

// False: SQLite rejects it.
bool try_execute(Database& database, const std::string& sql) {
  try {
    database.execute(sql);
    return true;
  } catch (const DatabaseError& error) {
    using Kind = DatabaseError::Kind;
    if (error.kind() != Kind::other && error.kind() != Kind::missing) throw;
    return false;
  }
}

// The quoted names of columns that both have. Columns missing from the copy are added first.
std::vector<std::string> common_columns(Database& damaged, Database& copy,
                                        const std::string& table) {
  std::set<std::string, NameLess> there;
  for (const Database::Column& column : copy.columns(table)) {
    if (!column.computed) there.insert(column.name);
  }
  std::vector<std::string> names;
  for (const Database::Column& column : damaged.columns(table)) {
    if (column.computed) continue;
    const std::string name = quoted_name(column.name);
    if (there.insert(column.name).second &&
        !try_execute(copy, "ALTER TABLE " + quoted_name(table) + " ADD COLUMN " + name)) {
      continue;
    }
    names.push_back(name);
  }
  return names;
}

// Copies a table's rows; returns what was lost.
Loss copy_table(Database& damaged, Database& copy, const std::string& table) {
  const std::vector<std::string> columns = common_columns(damaged, copy, table);
  if (columns.empty()) return {.table = table, .open_ended = true};
  auto insert =
      copy.prepare("INSERT OR IGNORE INTO " + quoted_name(table) + "(" + joined(columns, ", ") +
                   ") VALUES(" + joined(std::vector<std::string>(columns.size(), "?"), ", ") + ")");
  // The columns of `row` begin at `first`.
  const auto store = [&](Statement& row, int first) {
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
      insert.bind_column(i + 1, row, first + i);
    }
    insert.run();
  };
  std::optional<Rows> rows;
  Statement all;
  try {
    rows.emplace(damaged, quoted_name(table), joined(columns, ", "));
  } catch (const DatabaseError&) {
    // It has no ids, or cannot be read at all: reads up to the damage.
    try {
      all = damaged.prepare("SELECT " + joined(columns, ", ") + " FROM " + quoted_name(table));
    } catch (const DatabaseError&) {
      return {.table = table, .open_ended = true};
    }
  }
  if (!rows) {
    try {
      while (all.step()) store(all, 0);
    } catch (const DatabaseError& error) {
      if (!error.damaged()) throw;
      return {.table = table, .open_ended = true};
    }
    return {.table = table};
  }
  while (rows->step()) store(rows->row(), 1);
  return {.table = table,
          .rows = rows->lost(),
          .last_id = rows->last(),
          .open_ended = rows->open_ended()};
}

// Uses our own SQL if we know the object. `ours`: the file is one of ours.
bool make(Database& copy, const SchemaObject& object, bool ours) {
  const auto own = own_sql(object.type, object.name, ours);
  if (!own) return copy.make(object.type, object.name, object.sql);
  return !copy.has_table(object.name) && try_execute(copy, *own);
}

// The id of each table's last row, from nvprof's AUTOINCREMENT or our row counts.
struct LastIds {
  std::map<std::string, std::int64_t, NameLess> ids;
  bool complete = false;  // tables of records not listed are empty
};

LastIds last_ids(Database& damaged, Database& copy, const std::vector<Loss>& losses) {
  LastIds last;
  try {
    Rows rows(damaged, "sqlite_sequence", "name, seq");
    while (rows.step()) last.ids.emplace(rows.row().text(1), rows.row().integer(2));
    last.complete = rows.lost() == 0 && !rows.open_ended();
  } catch (const DatabaseError&) {
    // There is no such table, or it is lost.
  }
  try {
    auto rows = copy.prepare(
        "SELECT kind, sum(value) FROM STATISTIC WHERE name = 'records_received' "
        "AND NOT EXISTS (SELECT 1 FROM RUN WHERE key = 'derived_from') GROUP BY kind");
    while (rows.step()) last.ids.emplace(rows.text(0), rows.integer(1));
    const auto statistic = std::ranges::find_if(
        losses, [](const Loss& loss) { return same_name(loss.table, "STATISTIC"); });
    const bool whole = statistic != losses.end() && statistic->rows == 0 && !statistic->open_ended;
    if (!last.ids.empty() && whole) last.complete = true;
  } catch (const DatabaseError&) {
    // As above.
  }
  return last;
}

}  // namespace

std::vector<SchemaObject> read_schema(Database& database, const std::string& schema,
                                      bool* complete) {
  std::vector<SchemaObject> objects;
  Rows rows(database, quoted_name(schema) + ".sqlite_master", "type, name, rootpage, sql");
  while (rows.step()) {
    Statement& row = rows.row();
    const std::string_view name = row.text(2), sql = row.text(4);
    if (sql.empty() || name_starts_with(name, "sqlite_")) continue;
    std::string type(row.text(1));
    if (type == "table" && name == store::string_hashes) continue;
    if (type == "table" && row.integer(3) == 0) type = "virtual table";
    objects.push_back({std::move(type), std::string(name), ForeignSql(sql)});
  }
  if (complete) *complete = rows.lost() == 0 && !rows.open_ended();
  return objects;
}

std::vector<Loss> rescue(Database& damaged, Database& copy, bool ours,
                         const std::function<void(std::string_view table)>& progress) {
  bool complete = true;
  const std::vector<SchemaObject> objects = read_schema(damaged, "main", &complete);
  std::vector<Loss> losses;
  copy.execute("PRAGMA journal_mode = OFF");
  copy.execute("PRAGMA synchronous = OFF");
  copy.take_in(damaged);
  copy.execute("BEGIN");
  for (const SchemaObject& object : objects) {
    if (object.type != "table") continue;
    progress(object.name);
    losses.push_back(make(copy, object, ours) ? copy_table(damaged, copy, object.name)
                                              : Loss{.table = object.name, .open_ended = true});
  }
  // Columns and tables that current reports read: they will find NULL, or no rows.
  for (const schema::KindRef& kind : schema::kinds) {
    copy.execute(schema::create_table_sql(*kind.table, ours));
  }
  if (ours) complete_schema(copy);
  for (const std::string_view type : {"index", "view"}) {
    for (const SchemaObject& object : objects) {
      if (object.type == type) make(copy, object, ours);
    }
  }
  copy.execute("COMMIT");
  LastIds last = last_ids(damaged, copy, losses);
  // Tables were modified without updating what is recorded about them.
  if (std::ranges::any_of(losses, [&](const Loss& loss) {
        const auto known = last.ids.find(loss.table);
        return known != last.ids.end() && known->second < loss.last_id;
      })) {
    last = {};
  }
  for (const auto& [table, id] : last.ids) {
    if (std::ranges::none_of(losses,
                             [&](const Loss& loss) { return same_name(loss.table, table); })) {
      losses.push_back({.table = table, .open_ended = true});  // no longer in the schema
    }
  }
  for (Loss& loss : losses) {
    const auto known = last.ids.find(loss.table);
    if (known == last.ids.end()) {
      if (last.complete && name_starts_with(loss.table, "CUPTI_ACTIVITY_KIND_")) {
        loss.open_ended = false;
      }
    } else if (std::exchange(loss.open_ended, false)) {
      const std::int64_t missing = saturating_subtract(known->second, loss.last_id);
      loss.rows = saturating_add(loss.rows, std::max<std::int64_t>(0, missing));
    }
  }
  if (!complete)
    losses.push_back({.table = "the list of tables", .last_id = 1, .open_ended = true});
  std::erase_if(losses, [](const Loss& loss) { return loss.rows == 0 && !loss.open_ended; });
  return losses;
}

}  // namespace gpuprof::reading
