#include "libprof/store/string_writer.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/names/demangle.hpp"
#include "schema/run.hpp"
#include "schema/tables.hpp"

namespace gpuprof::store {
namespace {

std::int64_t hash_of(std::string_view text) {
  return static_cast<std::int64_t>(std::hash<std::string_view>()(text));
}

}  // namespace

StringWriter::StringWriter(Database& database, std::size_t cache_bytes)
    : database_(database),
      cache_(cache_bytes),
      cache_bytes_(cache_bytes),
      insert_(database.prepare("INSERT INTO StringTable(_id_, value) VALUES(?1, ?2)")),
      update_(
          database.prepare("UPDATE StringTable SET demangled = ?2, short = ?3 WHERE _id_ = ?1")) {
  insert_.bind(1, std::int64_t{0}).bind(2, schema::null_string).run();
}

std::int64_t StringWriter::id(std::string_view text) {
  if (const auto known = cache_.find(text)) return *known;
  if (cache_.forgets() && !hashing_) start_hashing();
  const std::int64_t hash = hashing_ ? hash_of(text) : 0;
  std::int64_t id = hashing_ ? stored(text, hash) : 0;
  if (id == 0) {
    id = ++last_id_;
    insert_.bind(1, id).bind(2, text).run();
    if (hashing_) insert_hash_.bind(1, hash).bind(2, id).run();
    names_.ask(id, text);
  }
  cache_.add(text, id);
  return id;
}

// An index on the texts themselves would be as large as they are, and its pages change in random
// order.
void StringWriter::start_hashing() {
  const std::string table = "main." + quoted_name(string_hashes);
  database_.execute("CREATE TABLE " + table +
                    "(hash INTEGER, id INTEGER, PRIMARY KEY(hash, id)) WITHOUT ROWID");
  std::vector<std::pair<std::int64_t, std::int64_t>> hashes;
  Statement all = database_.prepare("SELECT _id_, value FROM main.StringTable WHERE _id_ > 0");
  while (all.step()) hashes.emplace_back(hash_of(all.text(1)), all.integer(0));
  all = Statement();
  std::ranges::sort(hashes);
  insert_hash_ = database_.prepare("INSERT INTO " + table + " VALUES(?1, ?2)");
  for (const auto& [hash, id] : hashes) insert_hash_.bind(1, hash).bind(2, id).run();
  find_ = database_.prepare("SELECT id FROM " + table +
                            " JOIN main.StringTable ON _id_ = id "
                            "WHERE hash = ?1 AND value = ?2");
  hashing_ = true;
}

std::int64_t StringWriter::stored(std::string_view text, std::int64_t hash) {
  find_.bind(1, hash).bind(2, text);
  const std::int64_t id = find_.step() ? find_.integer(0) : 0;
  find_.reset();
  return id;
}

std::size_t StringWriter::store_readable_names() {
  std::size_t given_up = 0;
  for (const auto& [id, readable] : names_.take()) {
    given_up += readable.gave_up;
    if (!readable.changed) continue;
    update_.bind(1, id).bind(2, readable.text).bind(3, short_name(readable.text)).run();
  }
  return given_up;
}

void StringWriter::remove_unused(
    const std::function<void(const std::function<void(std::int64_t id)>&)>& used) {
  const std::string kept = "temp." + quoted_name("used strings");
  database_.execute("CREATE TABLE " + kept + "(id INTEGER PRIMARY KEY)");
  for (const schema::Table* table : schema::all_tables) {
    schema::for_each_column(*table, true, [&](const schema::Column& column) {
      if (column.type != schema::Type::string || table->is_view) return;
      database_.execute("INSERT OR IGNORE INTO " + kept + " SELECT DISTINCT " +
                        quoted_name(column.name) + " FROM main." + quoted_name(table->name) +
                        " WHERE " + quoted_name(column.name) + " IS NOT NULL");
    });
  }
  {
    Statement insert = database_.prepare("INSERT OR IGNORE INTO " + kept + " VALUES(?1)");
    used([&](std::int64_t id) { insert.bind(1, id).run(); });
  }
  database_.execute("DELETE FROM main.StringTable WHERE _id_ > 0 AND _id_ NOT IN (SELECT id FROM " +
                    kept + ")");
  database_.execute("DROP TABLE " + kept);
  // They would be found in the cache, or by their hashes.
  finish();
  cache_ = StringCache(cache_bytes_);
  Statement left = database_.prepare("SELECT value, _id_ FROM main.StringTable WHERE _id_ > 0");
  while (left.step()) cache_.add(left.text(0), left.integer(1));
  looked_through_ = last_id_;
}

void StringWriter::finish() {
  if (!std::exchange(hashing_, false)) return;
  find_ = Statement();
  insert_hash_ = Statement();
  database_.execute("DROP TABLE main." + quoted_name(string_hashes));
}

}  // namespace gpuprof::store
