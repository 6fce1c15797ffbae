// What the file says of a record.
#include <algorithm>
#include <cstdio>

#include "libprof/base/saturating.hpp"
#include "libprof/columns/table_info.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/details.hpp"
#include "libprof/view/sections.hpp"
#include "schema/enums.hpp"
#include "schema/traits.hpp"
#include "schema/view_text.hpp"

namespace gpuprof::view {
namespace {

std::string milliseconds(std::int64_t ns) {
  char text[64];
  std::snprintf(text, sizeof text, "%.6f ms", static_cast<double>(ns) / 1e6);
  return text;
}

// One record's neighbours in the file.
class Finder {
 public:
  Finder(store::Database& database, const Model& model)
      : database_(database),
        model_(model),
        tables_(database),
        names_(database, reading::NameStyle::modern) {}

  Details find(const Place& place, const Item& item) {
    sections().emplace_back();
    const std::string& table = model_.tables[item.table];
    add("name", model_.names[item.name].text);
    add("start", milliseconds(saturating_subtract(item.begin, model_.zero)));
    add("duration", milliseconds(saturating_subtract(item.end, item.begin)));
    const columns::TableInfo* info = columns::find_table(table);
    auto row =
        database_.prepare("SELECT * FROM main." + store::quoted_name(table) + " WHERE _id_ = ?1");
    if (!info || !row.bind(1, item.id).step()) return std::move(details_);
    Subject subject{database_, tables_, names_, std::string(reading::kind_of(table))};
    bool same = true;
    for (int i = 0; i < row.column_count(); ++i) {
      if (row.column_name(i) == "correlationId") subject.correlation = row.integer(i);
      if (row.column_name(i) == "processId") subject.process = row.integer(i);
      if (row.column_name(i) == "deviceId") subject.device = row.integer(i);
      if (row.column_name(i) == "contextId") subject.context = row.integer(i);
      if (row.column_name(i) == "streamId") subject.stream = row.integer(i);
      if (row.column_name(i) == "name" && subject.is_kernel()) subject.name = row.integer(i);
      // A range on the GPU begins when its first work does.
      if (row.column_name(i) == "start" && table != "NVTX_RANGE") {
        same = row.integer(i) == item.begin;
      }
    }
    if (!same) {
      add("", "the file has another record there by now");
      return std::move(details_);
    }
    if (subject.correlation != 0 && subject.is_work()) add_launch(subject, item);
    if (subject.is_kernel()) add_shape(item, table);
    if (table == "NVTX_RANGE") add_range(item);
    for (int i = 0; i < row.column_count(); ++i) add_column(*info, row, i);
    for (const auto& read : {read_stack, read_metrics, read_sass_metrics, read_hot_lines}) {
      add_section(subject, read);
    }
    attempt([&] { details_.links = find_links(subject, model_, place, item); });
    return std::move(details_);
  }

 private:
  void add(std::string name, std::string value) {
    if (!value.empty()) sections().front().rows.push_back({std::move(name), std::move(value)});
  }

  std::vector<Section>& sections() { return details_.sections; }

  void add_section(Subject& subject, Section (*read)(Subject&)) {
    attempt([&] {
      Section section = read(subject);
      if (!section.rows.empty()) sections().push_back(std::move(section));
    });
  }

  // Tables that do not go together cost what would be read from them, and no more.
  template <class Read>
  void attempt(const Read& read) {
    try {
      read();
    } catch (const store::DatabaseError& error) {
      if (!error.of_statement() && error.kind() != store::DatabaseError::Kind::refused) throw;
      add("not read", error.what());
    }
  }

  void add_launch(Subject& subject, const Item& item) {
    if (const auto call = find_call(subject)) {
      add("launched by", call->name);
      add("launched at", milliseconds(saturating_subtract(call->begin, model_.zero)));
      add("from call to start", milliseconds(saturating_subtract(item.begin, call->begin)));
    }
    if (!tables_.has("LAUNCH_RANGE", "range") || !tables_.has("NVTX_PATH", "path")) return;
    auto path = database_.prepare(
        "SELECT p.path FROM main.LAUNCH_RANGE AS r JOIN main.NVTX_PATH AS p ON p.range = r.range "
        "WHERE r.correlationId = ?1");
    if (path.bind(1, subject.correlation).step()) add("NVTX path", names_.text(path.integer(0)));
  }

  void add_shape(const Item& item, const std::string& table) {
    if (!tables_.has("LAUNCH_SHAPE", "occupancy") ||
        !tables_.has(table, "sharedMemoryCarveoutRequested")) {
      return;
    }
    std::string columns;
    for (const std::string_view column : {"occupancy", "limiter", "waves"}) {
      columns += (columns.empty() ? "" : ", ") + schema::detail::select_shape(column);
    }
    auto shape =
        database_.prepare("SELECT " + columns + " FROM main." + table + " AS k WHERE k._id_ = ?1");
    if (!shape.bind(1, item.id).step() || shape.is_null(0)) return;
    char text[64];
    std::snprintf(text, sizeof text, "%.1f %%", 100 * shape.real(0));
    add("theoretical occupancy", text);
    add("occupancy limiter", std::string(shape.text(1)));
    std::snprintf(text, sizeof text, "%.2f", shape.real(2));
    add("waves", text);
  }

  void add_range(const Item& item) {
    if (!tables_.has("NVTX_PATH", "path")) return;
    auto path = database_.prepare("SELECT path FROM main.NVTX_PATH WHERE range = ?1");
    if (path.bind(1, item.id).step()) add("NVTX path", names_.text(path.integer(0)));
  }

  void add_column(const columns::TableInfo& info, const store::Statement& row, int i) {
    const std::string name(row.column_name(i));
    const columns::ColumnInfo* column = info.find(name);
    if (!column || row.is_null(i) || name == "_id_") return;
    switch (column->type) {
      case columns::Type::name: add(name, names_.text(row.integer(i))); return;
      case columns::Type::enumeration: {
        const std::string_view known = schema::enum_name(column->enum_name, row.integer(i));
        add(name, known.empty() ? std::to_string(row.integer(i)) : std::string(known));
        return;
      }
      case columns::Type::blob: return;
      case columns::Type::float64: {
        char text[64];
        std::snprintf(text, sizeof text, "%.9g", row.real(i));
        add(name, text);
        return;
      }
      case columns::Type::text: add(name, std::string(row.text(i))); return;
      case columns::Type::int64:
      case columns::Type::int32:
      case columns::Type::boolean: add(name, std::to_string(row.integer(i)));
    }
  }

  store::Database& database_;
  const Model& model_;
  reading::Tables tables_;
  reading::Names names_;
  Details details_;
};

}  // namespace

std::optional<Call> find_call(Subject& subject) {
  std::optional<Call> outermost;
  for (const schema::ApiKind& calls : schema::api_kinds) {
    const std::string table = reading::table_name(calls.kind);
    if (!subject.tables.has(table, "correlationId") || !subject.tables.has(table, "cbid") ||
        !subject.tables.has(table, "start")) {
      continue;
    }
    auto call = subject.database.prepare("SELECT _id_, start, cbid FROM main." + table +
                                         " WHERE correlationId = ?1 ORDER BY start LIMIT 1");
    if (!call.bind(1, subject.correlation).step()) continue;
    if (outermost && outermost->begin <= call.integer(1)) continue;
    outermost = {table, call.integer(0), call.integer(1),
                 subject.names.api(reading::domain_of(calls), call.integer(2))};
  }
  return outermost;
}

Details details(store::Database& database, const Model& model, const Place& place,
                const Item& item) {
  return Finder(database, model).find(place, item);
}

}  // namespace gpuprof::view
