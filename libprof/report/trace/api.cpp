#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "libprof/report/trace/source.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

// Finds the kernel that an API call launched, by correlation id. If several match, the last one
// wins, and CONCURRENT_KERNEL takes precedence over KERNEL.
class LaunchedKernels {
 public:
  // Must precede all reading: SQLite locks temporary tables while rows are read.
  void open(Session& session) {
    if (!names_.empty()) return;
    for (const std::string_view kind : {"CONCURRENT_KERNEL", "KERNEL"}) {
      if (!session.has_rows(kind) || !session.has_column(kind, "correlationId")) continue;
      const std::string row = session.has_column(kind, "_id_") ? "_id_" : "rowid";
      const std::string table = session.database().has_index(table_name(kind), "correlationId")
                                    ? "main." + table_name(kind)
                                    : copy(session, kind, row);
      names_.push_back(session.database().prepare("SELECT name FROM " + table +
                                                  " WHERE correlationId = ?1 ORDER BY " + row +
                                                  " DESC LIMIT 1"));
    }
  }

  // The string id of the kernel's name.
  std::optional<std::int64_t> name(std::int64_t correlation_id) {
    for (store::Statement& names : names_) {
      names.bind(1, correlation_id);
      std::optional<std::int64_t> name;
      if (names.step()) name = names.integer(0);
      names.reset();
      if (name) return name;
    }
    return std::nullopt;
  }

 private:
  // Copies the needed columns to an indexed temporary table.
  static std::string copy(Session& session, std::string_view kind, const std::string& row) {
    session.output().progress("indexing " + table_name(kind));
    const std::string table = "temp.launched_" + table_name(kind);
    session.database().execute("DROP TABLE IF EXISTS " + table + "; CREATE TABLE " + table +
                               "(correlationId INTEGER PRIMARY KEY, name INT, " + row +
                               " INT); INSERT OR REPLACE INTO " + table +
                               " SELECT correlationId, name, " + row + " FROM main." +
                               table_name(kind) + " ORDER BY " + row);
    return table;
  }

  std::vector<store::Statement> names_;
};

// Runtime and driver calls.
class ApiSource : public TraceSource {
 public:
  ApiSource(Session& session, const schema::ApiKind& calls,
            std::shared_ptr<LaunchedKernels> launched)
      : TraceSource(session, {.rows = {.kind = calls.kind, .integers = columns::Ties::as_stored},
                              .amounts = {{TraceField::duration, "[end] - start"}},
                              .correlation_id = 3}),
        domain_(reading::domain_of(calls)),
        launched_(session.output().csv() ? nullptr : std::move(launched)) {}

  void begin() override {
    if (launched_) launched_->open(session_);
    TraceSource::begin();
  }

 protected:
  std::vector<std::string_view> columns() override {
    return {"start",
            "end",
            "cbid",
            "correlationId",
            shown(TraceField::process_id, "processId"),
            shown(TraceField::thread_id, "threadId")};
  }
  void read() override {
    text(TraceField::kind, domain_ == ApiDomain::driver ? "driver" : "runtime");
    duration(integer(1));
    process(integer(4));
    number(TraceField::thread_id, integer(5));
    std::string* name = text(TraceField::name);
    if (!name) return;
    *name = function(integer(2));
    const auto kernel = launched_ ? launched_->name(correlation_id()) : std::nullopt;
    if (cell(TraceField::kernel)) {
      kernel ? text(TraceField::kernel, session_.names().kernel(*kernel))
             : nothing(TraceField::kernel);
    } else if (kernel) {
      name->append(" (").append(session_.names().kernel(*kernel)).append(" [");
      append_number(*name, correlation_id());
      *name += "])";
    }
  }

 private:
  const std::string& function(std::int64_t cbid) {
    const auto [place, is_new] = functions_.try_emplace(cbid);
    if (is_new) place->second = session_.names().api(domain_, cbid);
    return place->second;
  }

  const ApiDomain domain_;
  std::unordered_map<std::int64_t, std::string> functions_;
  const std::shared_ptr<LaunchedKernels> launched_;  // nullptr: not shown
};

}  // namespace

std::vector<std::unique_ptr<TraceSource>> api_sources(Session& session) {
  const auto launched = std::make_shared<LaunchedKernels>();
  std::vector<std::unique_ptr<TraceSource>> sources;
  for (const schema::ApiKind& calls : schema::api_kinds) {
    if (calls.nvprofs) sources.push_back(std::make_unique<ApiSource>(session, calls, launched));
  }
  return sources;
}

}  // namespace gpuprof::report
