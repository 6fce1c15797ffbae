// What the file says about a record.
#include <array>
#include <cstdio>
#include <optional>
#include <set>
#include <string_view>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/columns/table_info.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/report/number.hpp"
#include "libprof/view/model/details.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/model/others.hpp"
#include "libprof/view/model/sections.hpp"
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

// Collects the details of one record.
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
    add("duration", time(saturating_subtract(item.end, item.begin)));
    add("start", milliseconds(saturating_subtract(item.begin, model_.zero)));
    const columns::TableInfo* info = columns::find_table(table);
    auto row =
        database_.prepare("SELECT * FROM main." + store::quoted_name(table) + " WHERE _id_ = ?1");
    if (!info || !row.bind(1, item.id).step()) return std::move(details_);
    Subject subject{database_, tables_, names_, std::string(reading::kind_of(table))};
    const auto number = [&](std::string_view column) {
      for (int i = 0; i < row.column_count(); ++i) {
        if (row.column_name(i) == column) return row.integer(i);
      }
      return std::int64_t{0};
    };
    subject.correlation = number("correlationId");
    subject.process = number("processId");
    subject.device = number("deviceId");
    subject.context = number("contextId");
    subject.stream = number("streamId");
    subject.node = number("graphNodeId");
    if (subject.is_kernel()) subject.name = number("name");
    // A range on the GPU begins with its first work.
    if (table != "NVTX_RANGE" && tables_.has(table, "start") && number("start") != item.begin) {
      add("", "the file has another record there by now");
      return std::move(details_);
    }
    CodePlace code;
    attempt([&] { code = read_stack(subject); });
    add_work(subject, row, item);
    if (subject.correlation != 0 && subject.is_work()) add_launch(subject, item);
    add("line of Python", code.line);
    if (subject.is_kernel()) add_shape(item, table);
    if (table == "NVTX_RANGE") add_range(item);
    if (Section others = read_others(model_, place, item); !others.rows.empty()) {
      sections().push_back(std::move(others));
    }
    for (const auto& read : all_sections) add_section(subject, read);
    if (!code.stack.rows.empty()) sections().push_back(std::move(code.stack));
    Section all{.title = "All columns", .rows = {}};
    for (int i = 0; i < row.column_count(); ++i) add_column(*info, row, i, all);
    if (!all.rows.empty()) sections().push_back(std::move(all));
    attempt([&] { details_.links = find_links(subject, model_, place, item); });
    return std::move(details_);
  }

 private:
  void add(std::string name, std::string value) {
    if (!value.empty()) sections().front().rows.push_back({std::move(name), std::move(value)});
  }

  std::vector<Section>& sections() { return details_.sections; }

  static std::string time(std::int64_t ns) { return time_text(static_cast<double>(ns)); }

  // The most wanted facts about a launch or copy. Their columns are not repeated.
  void add_work(const Subject& subject, const store::Statement& row, const Item& item) {
    if (!subject.is_work()) return;
    const auto value = [&](std::string_view column) -> std::optional<std::int64_t> {
      for (int i = 0; i < row.column_count(); ++i) {
        if (row.column_name(i) != column || row.is_null(i)) continue;
        said_.insert(std::string(column));
        return row.integer(i);
      }
      return std::nullopt;
    };
    const auto add_shape = [&](const std::string& name, const std::string& prefix) {
      const auto x = value(prefix + "X"), y = value(prefix + "Y"), z = value(prefix + "Z");
      if (!x || !y || !z) return;
      add(name, std::to_string(*x) + " x " + std::to_string(*y) + " x " + std::to_string(*z));
    };
    const auto size = [](std::int64_t bytes) {
      return report::binary_size(static_cast<double>(bytes));
    };
    if (subject.is_kernel()) {
      add_shape("grid", "grid");
      add_shape("block", "block");
      if (const auto registers = value("registersPerThread")) {
        add("registers of a thread", std::to_string(*registers));
      }
      const auto fixed = value("staticSharedMemory"), dynamic = value("dynamicSharedMemory");
      if (fixed && dynamic) {
        add("shared memory of a block",
            size(saturating_add(*fixed, *dynamic)) +
                (*fixed && *dynamic ? ", " + size(*dynamic) + " of it dynamic" : ""));
      }
    } else if (const auto bytes = value("bytes")) {
      add("size", size(*bytes));
      const auto ns = static_cast<double>(saturating_subtract(item.end, item.begin));
      if (ns > 0) add("speed", counter_text(static_cast<double>(*bytes) / ns * 1e9, "byte/s"));
    }
    // As text; the numbers stay among the columns, for use in SQL.
    if (!tables_.has(model_.tables[item.table], "streamId")) return;
    const std::string context = names_.context(subject.device, subject.context);
    add("stream",
        names_.stream(subject.device, subject.context, subject.stream) + " of context " + context);
    add("device", names_.device(subject.device));
  }

  void add_section(Subject& subject, Section (*read)(Subject&)) {
    attempt([&] {
      Section section = read(subject);
      if (!section.rows.empty()) sections().push_back(std::move(section));
    });
  }

  // Tables that do not fit together only lose the section that needs them.
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
      add("from call to start", time(saturating_subtract(item.begin, call->begin)));
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
    const std::array<std::string_view, 3> shown{"occupancy", "limiter", "waves"};
    const std::string columns = joined(shown, ", ", schema::detail::select_shape);
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
    if (!tables_.has("RANGE_TIME", "busy")) return;
    auto its = database_.prepare(
        "SELECT deviceId, busy, last - first, work, kernels FROM main.RANGE_TIME WHERE range = ?1 "
        "LIMIT 64");
    for (its.bind(1, item.id); its.step();) {
      add("work on " + names_.device(its.integer(0)),
          time(its.integer(1)) + " busy in " + time(its.integer(2)) + " from first to last, " +
              std::to_string(its.integer(3)) + " launches, " + std::to_string(its.integer(4)) +
              " of them kernels");
    }
  }

  void add_column(const columns::TableInfo& info, const store::Statement& row, int i,
                  Section& section) {
    const std::string name(row.column_name(i));
    const columns::ColumnInfo* column = info.find(name);
    if (!column || row.is_null(i) || name == "_id_" || said_.contains(name)) return;
    std::string value;
    switch (column->type) {
      case columns::Type::name:
        value = names_.text(row.integer(i));
        if (value == sections().front().rows.front().value) return;  // the record's name
        break;
      case columns::Type::enumeration:
        value = schema::enum_name(column->enum_name, row.integer(i));
        if (value.empty()) value = std::to_string(row.integer(i));
        break;
      case columns::Type::blob: return;
      case columns::Type::float64: {
        char text[64];
        std::snprintf(text, sizeof text, "%.9g", row.real(i));
        value = text;
        break;
      }
      case columns::Type::text: value = row.text(i); break;
      case columns::Type::int64:
      case columns::Type::int32:
      case columns::Type::boolean: value = std::to_string(row.integer(i));
    }
    if (!value.empty()) section.rows.push_back({name, std::move(value)});
  }

  store::Database& database_;
  const Model& model_;
  reading::Tables tables_;
  reading::Names names_;
  Details details_;
  std::set<std::string> said_;  // columns already shown
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
