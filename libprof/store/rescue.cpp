#include "libprof/store/rescue.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

namespace gpuprof::store {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

// The rows of a table by their ids, from one readable page to the next.
class Rows {
 public:
  // `table` and `columns` are SQL. Throws as a statement does.
  Rows(Database& database, const std::string& table, const std::string& columns)
      : rows_(database.prepare(select(table, columns))),
        probe_(database.prepare(select(table, "NULL") + " LIMIT 1")) {
    rows_.bind(1, lowest);
  }

  bool step() {
    while (next_ != highest) {
      try {
        if (!rows_.step()) return false;
        const std::int64_t id = rows_.integer(0);
        if (id >= next_) {  // else a page has nonsense on it
          if (hopped_ && id > wanted()) lost_ += id - wanted();
          hopped_ = false;
          last_ = id;
          next_ = id == highest ? highest : id + 1;
          return true;
        }
      } catch (const DatabaseError& error) {
        if (!error.damaged()) throw;
      }
      const auto place = next_place(std::max(next_, wanted()));
      rows_.reset();
      if (!place) {
        open_ended_ = true;
        return false;
      }
      hopped_ = true;
      next_ = *place;
      rows_.bind(1, next_);
    }
    return false;
  }

  Statement& row() { return rows_; }  // columns from 1; 0 is the id
  std::int64_t last() const { return last_.value_or(0); }
  std::int64_t lost() const { return lost_; }
  bool open_ended() const { return open_ended_; }

 private:
  static std::string select(const std::string& table, const std::string& columns) {
    return "SELECT _rowid_, " + columns + " FROM " + table +
           " NOT INDEXED WHERE _rowid_ >= ?1 ORDER BY _rowid_";
  }

  // The id that comes next if none is left out; ids begin at 1.
  std::int64_t wanted() const { return last_ ? *last_ + 1 : 1; }

  // Whether the first row from this id on can be read, or there is none.
  bool readable(std::int64_t id) {
    try {
      probe_.reset();
      return !probe_.bind(1, id).step() || probe_.integer(0) >= id;
    } catch (const DatabaseError& error) {
      if (!error.damaged()) throw;
      return false;
    }
  }

  // Behind the damage that begins at `begin`.
  std::optional<std::int64_t> next_place(std::int64_t begin) {
    std::int64_t before = begin, place = begin;
    for (std::int64_t step = 1;; step *= 2) {
      place = begin < highest - step ? begin + step : highest;
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
  std::optional<std::int64_t> last_;
  std::int64_t next_ = lowest;  // ids from here on are still to come
  std::int64_t lost_ = 0;       // ids between rows that were read
  bool hopped_ = false;
  bool open_ended_ = false;
};

// "[a], [b]": the columns that rows are stored with.
std::vector<std::string> column_names(Database& database, const std::string& table) {
  std::vector<std::string> names;
  auto columns = database.prepare("SELECT name FROM pragma_table_info(?1)");
  columns.bind(1, table);
  while (columns.step()) names.push_back(quoted_name(columns.text(0)));
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// The table's rows; what is lost of them.
Loss copy_table(Database& damaged, Database& copy, const std::string& table) {
  const std::vector<std::string> columns = column_names(copy, table);
  if (columns.empty()) return {.table = table, .open_ended = true};
  auto insert =
      copy.prepare("INSERT OR IGNORE INTO " + quoted_name(table) + "(" + joined(columns) +
                   ") VALUES(" + joined(std::vector<std::string>(columns.size(), "?")) + ")");
  // The columns of `row` begin at `first`.
  const auto store = [&](Statement& row, int first) {
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) {
      sqlite3_bind_value(insert.handle(), i + 1, sqlite3_column_value(row.handle(), first + i));
    }
    insert.run();
  };
  std::optional<Rows> rows;
  try {
    rows.emplace(damaged, quoted_name(table), joined(columns));
  } catch (const DatabaseError&) {
    // It has no ids, or cannot be read at all: what stands before the damage.
    try {
      auto all = damaged.prepare("SELECT " + joined(columns) + " FROM " + quoted_name(table));
      while (all.step()) store(all, 0);
      return {.table = table};
    } catch (const DatabaseError&) {
      return {.table = table, .open_ended = true};
    }
  }
  while (rows->step()) store(rows->row(), 1);
  return {.table = table,
          .rows = rows->lost(),
          .last_id = rows->last(),
          .open_ended = rows->open_ended()};
}

// Makes what it can; a text that this SQLite does not take is left out.
bool make(Database& database, const std::string& sql) {
  try {
    database.execute(sql);
    return true;
  } catch (const DatabaseError&) {
    return false;
  }
}

// The ids of the tables' last rows, as nvprof's AUTOINCREMENT keeps them, or as we count rows.
struct LastIds {
  std::map<std::string, std::int64_t> ids;
  bool complete = false;  // a table of records that is not in it is empty
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
    const Loss& lost = *std::ranges::find(losses, "STATISTIC", &Loss::table);
    if (!last.ids.empty() && lost.rows == 0 && !lost.open_ended) last.complete = true;
  } catch (const DatabaseError&) {
    // The same.
  }
  return last;
}

}  // namespace

std::string quoted_name(std::string_view name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

std::vector<SchemaObject> read_schema(Database& database, const std::string& schema,
                                      bool* complete) {
  std::vector<SchemaObject> objects;
  std::vector<std::string> virtual_tables;
  Rows rows(database, quoted_name(schema) + ".sqlite_master", "type, name, sql");
  while (rows.step()) {
    Statement& row = rows.row();
    const std::string_view name = row.text(2), sql = row.text(3);
    if (sql.empty() || name.starts_with("sqlite_")) continue;
    if (sql.starts_with("CREATE VIRTUAL")) {
      virtual_tables.emplace_back(name);
    } else {
      objects.push_back({std::string(row.text(1)), std::string(name), std::string(sql)});
    }
  }
  if (complete) *complete = rows.lost() == 0 && !rows.open_ended();
  // What a virtual table keeps its rows in is of no use without it.
  std::erase_if(objects, [&](const SchemaObject& object) {
    return std::ranges::any_of(virtual_tables, [&](const std::string& name) {
      return object.name.starts_with(name + "_");
    });
  });
  return objects;
}

std::vector<Loss> rescue(Database& damaged, Database& copy,
                         const std::function<void(std::string_view table)>& progress) {
  bool complete = true;
  const std::vector<SchemaObject> objects = read_schema(damaged, "main", &complete);
  std::vector<Loss> losses;
  copy.execute("PRAGMA journal_mode = OFF");
  copy.execute("PRAGMA synchronous = OFF");
  copy.execute("BEGIN");
  for (const SchemaObject& object : objects) {
    if (object.type != "table") continue;
    progress(object.name);
    losses.push_back(make(copy, object.sql) ? copy_table(damaged, copy, object.name)
                                            : Loss{.table = object.name, .open_ended = true});
  }
  for (const std::string_view type : {"index", "view"}) {
    for (const SchemaObject& object : objects) {
      if (object.type == type) make(copy, object.sql);
    }
  }
  copy.execute("COMMIT");
  LastIds last = last_ids(damaged, copy, losses);
  // Somebody changed the tables and not what is said of them.
  if (std::ranges::any_of(losses, [&](const Loss& loss) {
        const auto known = last.ids.find(loss.table);
        return known != last.ids.end() && known->second < loss.last_id;
      })) {
    last = {};
  }
  for (const auto& [table, id] : last.ids) {
    if (std::ranges::find(losses, table, &Loss::table) == losses.end()) {
      losses.push_back({.table = table, .open_ended = true});  // it is no longer in the schema
    }
  }
  for (Loss& loss : losses) {
    const auto known = last.ids.find(loss.table);
    if (known == last.ids.end()) {
      if (last.complete && loss.table.starts_with("CUPTI_ACTIVITY_KIND_")) loss.open_ended = false;
    } else if (std::exchange(loss.open_ended, false)) {
      loss.rows += std::max<std::int64_t>(0, known->second - loss.last_id);
    }
  }
  if (!complete)
    losses.push_back({.table = "the list of tables", .last_id = 1, .open_ended = true});
  std::erase_if(losses, [](const Loss& loss) { return loss.rows == 0 && !loss.open_ended; });
  return losses;
}

}  // namespace gpuprof::store
