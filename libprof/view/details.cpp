// What the file says of a record.
#include <algorithm>
#include <cstdio>

#include "libprof/base/saturating.hpp"
#include "libprof/columns/table_info.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
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

  std::vector<Section> find(const Item& item) {
    sections_.emplace_back();
    const std::string& table = model_.tables[item.table];
    add("name", model_.names[item.name].text);
    add("start", milliseconds(saturating_subtract(item.begin, model_.zero)));
    add("duration", milliseconds(saturating_subtract(item.end, item.begin)));
    const columns::TableInfo* info = columns::find_table(table);
    auto row =
        database_.prepare("SELECT * FROM main." + store::quoted_name(table) + " WHERE _id_ = ?1");
    if (!info || !row.bind(1, item.id).step()) return std::move(sections_);
    Subject subject{database_, tables_, names_, std::string(reading::kind_of(table))};
    bool same = true;
    for (int i = 0; i < row.column_count(); ++i) {
      if (row.column_name(i) == "correlationId") subject.correlation = row.integer(i);
      if (row.column_name(i) == "processId") subject.process = row.integer(i);
      if (row.column_name(i) == "deviceId") subject.device = row.integer(i);
      if (row.column_name(i) == "name" && subject.is_kernel()) subject.name = row.integer(i);
      // A range on the GPU begins when its first work does.
      if (row.column_name(i) == "start" && table != "NVTX_RANGE") {
        same = row.integer(i) == item.begin;
      }
    }
    if (!same) {
      add("", "the file has another record there by now");
      return std::move(sections_);
    }
    if (subject.correlation != 0 && subject.is_work()) add_launch(item, subject.correlation);
    if (subject.is_kernel()) add_shape(item, table);
    if (table == "NVTX_RANGE") add_range(item);
    for (int i = 0; i < row.column_count(); ++i) add_column(*info, row, i);
    for (const auto& read : {read_stack, read_metrics, read_sass_metrics, read_hot_lines}) {
      add_section(subject, read);
    }
    return std::move(sections_);
  }

 private:
  void add(std::string name, std::string value) {
    if (!value.empty()) sections_.front().rows.push_back({std::move(name), std::move(value)});
  }

  // Tables that do not go together cost that section alone.
  void add_section(Subject& subject, Section (*read)(Subject&)) {
    try {
      Section section = read(subject);
      if (!section.rows.empty()) sections_.push_back(std::move(section));
    } catch (const store::DatabaseError& error) {
      if (!error.of_statement() && error.kind() != store::DatabaseError::Kind::refused) throw;
      add("not read", error.what());
    }
  }

  void add_launch(const Item& item, std::int64_t correlation) {
    for (const schema::ApiKind& calls : schema::api_kinds) {
      const std::string table = reading::table_name(calls.kind);
      if (!tables_.has(table, "correlationId") || !tables_.has(table, "cbid")) continue;
      auto call = database_.prepare("SELECT cbid, start, [end], threadId FROM main." + table +
                                    " WHERE correlationId = ?1 LIMIT 1");
      if (!call.bind(1, correlation).step()) continue;
      add("launched by", names_.api(reading::domain_of(calls), call.integer(0)));
      add("launched at", milliseconds(saturating_subtract(call.integer(1), model_.zero)));
      add("from call to start", milliseconds(saturating_subtract(item.begin, call.integer(1))));
      break;
    }
    if (!tables_.has("LAUNCH_RANGE", "range") || !tables_.has("NVTX_PATH", "path")) return;
    auto path = database_.prepare(
        "SELECT p.path FROM main.LAUNCH_RANGE AS r JOIN main.NVTX_PATH AS p ON p.range = r.range "
        "WHERE r.correlationId = ?1");
    if (path.bind(1, correlation).step()) add("NVTX path", names_.text(path.integer(0)));
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
  std::vector<Section> sections_;
};

}  // namespace

std::vector<Section> details(store::Database& database, const Model& model, const Item& item) {
  return Finder(database, model).find(item);
}

}  // namespace gpuprof::view
