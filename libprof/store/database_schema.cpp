#include "libprof/store/database_schema.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <vector>

#include "schema/document.hpp"

namespace gpuprof::store {
namespace {

void write_docs(Database& database) {
  Statement table = database.prepare("INSERT OR REPLACE INTO TABLE_DOC VALUES(?1, ?2)");
  Statement column = database.prepare("INSERT OR REPLACE INTO COLUMN_DOC VALUES(?1, ?2, ?3)");
  for (const schema::DocRow& row : schema::doc_rows()) {
    if (row.column.empty()) {
      table.bind(1, row.table).bind(2, row.doc).run();
    } else {
      column.bind(1, row.table).bind(2, row.column).bind(3, row.doc).run();
    }
  }
}

}  // namespace

void create_schema(Database& database) {
  for (const schema::KindRef& kind : schema::kinds) {
    database.execute(schema::create_table_sql(*kind.table));
  }
  for (const schema::LegacyTable& legacy : schema::legacy_tables) {
    if (schema::always_created(legacy)) database.execute(schema::create_table_sql(legacy));
  }
  for (const schema::SessionTable& session : schema::session_tables) {
    database.execute(schema::create_table_sql(session));
  }
  database.execute("INSERT INTO Version VALUES(" + std::to_string(schema::nvprof_version) + ")");
  for (const schema::ViewSql& view : schema::views()) database.execute(std::string(view.sql));

  Statement statistic = database.prepare("INSERT INTO STATISTIC_DOC VALUES(?1, ?2, ?3)");
  for (const schema::StatisticInfo& info : schema::statistics) {
    statistic.bind(1, info.name).bind(2, schema::severity_name(info.severity)).bind(3, info.help);
    statistic.run();
  }
  Statement name = database.prepare("INSERT OR IGNORE INTO ENUM_NAME VALUES(?1, ?2, ?3)");
  for (const schema::EnumType& type : schema::enum_types) {
    for (const schema::EnumValue& value : type.values) {
      name.bind(1, type.name).bind(2, value.value).bind(3, value.name).run();
    }
  }
  write_docs(database);
}

void create_indexes(Database& database) {
  for (const schema::Index& index : schema::indexes) {
    database.execute(schema::create_index_sql(index));
  }
}

void compute_nvtx_ranges(Database& database) {
  constexpr std::int64_t start_flag = 2, end_flag = 4;
  constexpr std::int64_t thread_object = 2;
  if (!database.integer("SELECT 1 FROM CUPTI_ACTIVITY_KIND_MARKER LIMIT 1")) return;
  database.execute("DELETE FROM NVTX_RANGE");
  // Payloads are looked up by id below.
  database.execute(
      "CREATE INDEX IF NOT EXISTS INDEX_CUPTI_ACTIVITY_KIND_MARKER_DATA ON "
      "CUPTI_ACTIVITY_KIND_MARKER_DATA(id)");

  struct Open {
    std::int64_t row;
    std::int64_t id;
  };
  // Push/pop ranges nest within their thread and domain.
  struct Stack {
    std::vector<Open> open;
  };
  struct Key {
    std::int64_t process, thread, domain;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return static_cast<std::size_t>((key.process * 1000003 + key.thread) * 1000003 + key.domain);
    }
  };
  struct Started {
    std::int64_t row;
    Key key;
  };
  std::unordered_map<Key, Stack, KeyHash> stacks;
  std::unordered_map<Key, Started, KeyHash> started;  // by (process, id, 0)

  Statement insert = database.prepare(
      "INSERT INTO NVTX_RANGE(_id_, processId, threadId, id, domain, name, start, end, depth, "
      "parent, kind, payloadInt, payloadDouble, color, category) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
  Statement close = database.prepare("UPDATE NVTX_RANGE SET end = ?2 WHERE _id_ = ?1");
  Statement data = database.prepare(
      "SELECT payloadInt, payloadDouble, color, category FROM CUPTI_ACTIVITY_KIND_MARKER_DATA "
      "WHERE id = ?1 AND processId = ?2 ORDER BY _id_ LIMIT 1");
  Statement markers = database.prepare(
      "SELECT processId, threadId, objectKind, flags, timestamp, id, name, domain "
      "FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY processId, timestamp, id, flags");
  std::int64_t last_row = 0;
  while (markers.step()) {
    const std::int64_t process = markers.integer(0);
    const std::int64_t flags = markers.integer(3);
    const std::int64_t id = markers.integer(5);
    const Key by_id{process, id, 0};
    if (flags & start_flag) {
      const bool push_pop = markers.integer(2) == thread_object;
      const Key key{process, markers.integer(1), markers.integer(7)};
      Stack& stack = stacks[key];
      insert.bind(1, ++last_row).bind(2, process).bind(3, key.thread).bind(4, id);
      insert.bind(5, key.domain).bind(6, markers.integer(6)).bind(7, markers.integer(4));
      if (push_pop) {
        insert.bind(8, static_cast<std::int64_t>(stack.open.size()));
      } else {
        insert.bind_null(8);
      }
      if (push_pop && !stack.open.empty()) {
        insert.bind(9, stack.open.back().row);
      } else {
        insert.bind_null(9);
      }
      insert.bind(10, push_pop ? "push_pop" : "start_end");
      data.bind(1, id).bind(2, process);
      const bool has_data = data.step();
      for (int i = 0; i < 4; ++i) {
        if (!has_data || data.is_null(i)) {
          insert.bind_null(11 + i);
        } else if (i == 1) {
          insert.bind(11 + i, data.real(i));
        } else {
          insert.bind(11 + i, data.integer(i));
        }
      }
      data.reset();
      insert.run();
      if (push_pop) stack.open.push_back({last_row, id});
      started[by_id] = {last_row, key};
    } else if (flags & end_flag) {
      const auto range = started.find(by_id);
      if (range == started.end()) continue;
      close.bind(1, range->second.row).bind(2, markers.integer(4)).run();
      auto& open = stacks[range->second.key].open;
      std::erase_if(open, [&](const Open& entry) { return entry.id == id; });
      started.erase(range);
    }
  }
}

}  // namespace gpuprof::store
