// The functions of gpuprof.h for profiles. No exception crosses them.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gpuprof_version.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/c_api/account_rows.hpp"
#include "libprof/c_api/guard.hpp"
#include "libprof/c_api/known.hpp"
#include "libprof/c_api/memory_rows.hpp"
#include "libprof/c_api/query_rows.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/c_api/stream.hpp"
#include "libprof/c_api/table_rows.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/report/contents.hpp"
#include "libprof/report/query.hpp"
#include "libprof/report/report.hpp"

using namespace gpuprof;
using c_api::ArrowColumn;
using Json = nlohmann::ordered_json;

// An open profile. All calls but stop() lock the mutex. error() and hint() read what the last call
// left, without it.
struct gpuprof_run {
  int open(const char* path);
  void stop() { stop_ = true; }
  const char* error() const { return error_.c_str(); }
  const char* hint() const { return hint_.c_str(); }

  // Runs `work` and never throws: an exception becomes an error text and an exit code. All that
  // follows is called by `work`.
  int guarded(const std::function<void()>& work) noexcept;
  // Runs the question on a new connection, so that each one has the file's whole work budget. If
  // the file proves to be damaged, the question runs on a copy of what can be read.
  void ask(const std::function<void(store::Database&)>& question);
  // Rows that are read in the same way.
  void stream(const std::function<std::vector<ArrowColumn>(store::Database&)>& read,
              ArrowArrayStream* to);
  reading::ProfileFile& file();
  std::string notes() const;
  void check();
  void give(std::string text, const char** to);

 private:
  std::mutex mutex_;
  std::unique_ptr<reading::ProfileFile> file_;
  std::atomic<bool> stop_ = false;  // set by stop() for the call in progress
  bool rescued_ = false;            // file_ has opened a copy of what can be read
  std::string error_, hint_;
  std::string text_;  // the last text returned
};

namespace {

// Thrown when gpuprof_stop() ends a call.
struct Stopped {};

struct Object {
  std::string name;
  bool is_view = false;
};

// Tables and views of the file.
std::vector<Object> objects(store::Database& database) {
  std::vector<Object> all;
  auto row = database.prepare(
      "SELECT name, type FROM main.sqlite_master WHERE type IN ('table', 'view') "
      "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name LIMIT 10000");
  while (row.step()) {
    all.push_back({.name = std::string(row.text(0)), .is_view = row.text(1) == "view"});
  }
  return all;
}

std::string_view type_of(const c_api::KnownColumn* column) {
  return column && column->kind ? c_api::name_of(*column->kind) : "";
}

Json describe(store::Database& database, const Object& object) {
  const c_api::KnownTable* known = c_api::find_known(object.name);
  Json columns = Json::array();
  const auto add = [&](const std::string& name, const c_api::KnownColumn* column) {
    columns.push_back({{"name", name},
                       {"type", type_of(column)},
                       {"doc", column ? column->doc : ""},
                       {"unit", column ? column->unit : ""}});
  };
  if (known && !known->is_view) {
    for (const c_api::KnownColumn& column : known->columns) add(column.name, &column);
  } else {
    try {
      for (const auto& column : database.columns(object.name)) {
        add(column.name, known ? known->find(column.name) : nullptr);
      }
    } catch (const store::DatabaseError& error) {
      if (error.damaged()) throw;  // otherwise the object cannot be queried and has no columns
    }
  }
  return {{"name", object.name},
          {"doc", known ? known->doc : ""},
          {"view", object.is_view},
          {"columns", std::move(columns)}};
}

std::vector<ArrowColumn> read(store::Database& database, const c_api::Request& request,
                              const std::function<void()>& check) {
  const std::vector<Object> all = objects(database);
  const Object* object = find_named(all, request.table);
  if (const columns::TableInfo* table = columns::find_table(request.table)) {
    return c_api::read_table(database, *table, request, check);
  }
  if (!object) {
    const bool known = c_api::find_known(request.table);
    throw Error("the file has no table or view " + request.table,
                known ? "gpuprof makes that view in its own files, and this one lacks it"
                      : "the catalogue has the names of all",
                ExitCode::bad_option);
  }
  return c_api::read_view(database, object->name, c_api::find_known(object->name), request, check);
}

// Puts the constant columns before the others.
std::vector<ArrowColumn> with_front(const c_api::Request& request,
                                    std::vector<ArrowColumn> columns) {
  if (request.front.empty()) return columns;
  const std::size_t rows = columns.empty() ? 0 : columns.front().size();
  std::vector<ArrowColumn> all;
  for (const auto& [name, kind, value] : request.front) {
    ArrowColumn& column = all.emplace_back(name, kind);
    for (std::size_t row = 0; row < rows; ++row) column.add(value);
  }
  std::ranges::move(columns, std::back_inserter(all));
  return all;
}

// "gpu-trace" -> "print-gpu-trace".
std::string option_of(const std::string& name) {
  std::vector<std::string> all;
  for (const report::Report* report : report::reports()) {
    if (report->option.empty()) continue;
    for (const std::string& option : {name, "print-" + name}) {
      if (option == report->option) return option;
    }
    const std::string_view option = report->option;
    all.emplace_back(option.starts_with("print-") ? option.substr(6) : option);
  }
  throw Error("there is no report " + name, "there are " + joined(all, ", "), ExitCode::bad_option);
}

report::ReportOptions options_of(std::string_view names, std::string_view layout) {
  report::ReportOptions options;
  if (!names.empty()) {
    for (const std::string& name : split(names, ',')) options.chosen.insert(option_of(name));
  }
  if (layout == "csv") {
    options.layout = report::Layout::plain_csv;
  } else if (layout == "json") {
    options.layout = report::Layout::json;
  } else if (layout != "text") {
    throw Error("there is no layout " + std::string(layout), "text, csv or json",
                ExitCode::bad_option);
  }
  const std::string wrong = report::wrong_combination(options);
  if (!wrong.empty()) throw Error(wrong, "", ExitCode::bad_option);
  return options;
}

}  // namespace

int gpuprof_run::guarded(const std::function<void()>& work) noexcept {
  const auto fail = [this](const char* error, const char* hint, ExitCode code) {
    try {
      error_ = valid_utf8(error);
      hint_ = valid_utf8(hint);
    } catch (...) {
      error_.clear();
    }
    return static_cast<int>(code);
  };
  try {
    const std::lock_guard lock(mutex_);
    error_.clear();
    hint_.clear();
    stop_ = false;
    try {
      work();
      return 0;
    } catch (const Stopped&) {
      error_ = "stopped";
      return GPUPROF_STOPPED;
    } catch (const store::DatabaseError& error) {
      if (!stop_) return fail(error.what(), error.hint().c_str(), error.exit_code());
      error_ = "stopped";
      return GPUPROF_STOPPED;
    } catch (const Error& error) {
      return fail(error.what(), error.hint().c_str(), error.exit_code());
    } catch (const std::bad_alloc&) {
      return fail("out of memory", "choose fewer columns or rows", ExitCode::internal);
    } catch (const std::exception& error) {
      return fail(error.what(), "", ExitCode::internal);
    }
  } catch (...) {
    return fail("an error of gpuprof's own", "", ExitCode::internal);
  }
}

void gpuprof_run::check() {
  if (stop_) throw Stopped();
}

void gpuprof_run::ask(const std::function<void(store::Database&)>& question) {
  reading::ProfileFile& opened = file();
  const auto use = [&](store::Database& database) {
    rescued_ = opened.damaged();
    store::Database connection = database.reader();
    connection.watch([this] { return stop_.load(); });
    question(connection);
  };
  rescued_ ? use(opened.database()) : opened.read(use);
}

void gpuprof_run::stream(const std::function<std::vector<ArrowColumn>(store::Database&)>& read,
                         ArrowArrayStream* to) {
  std::vector<ArrowColumn> columns;
  ask([&](store::Database& database) { columns = read(database); });
  *to = c_api::stream_of(columns);
}

reading::ProfileFile& gpuprof_run::file() {
  if (!file_) throw Error("no profile is open", "", ExitCode::bad_option);
  return *file_;
}

std::string gpuprof_run::notes() const {
  std::string all;
  if (file_) {
    for (const std::string& note : file_->notes()) all += note + "\n";
  }
  return all;
}

void gpuprof_run::give(std::string text, const char** to) {
  text_ = std::move(text);
  *to = text_.c_str();
}

int gpuprof_run::open(const char* path) {
  return guarded([&] {
    // An absolute path: each question opens the file again, and the working directory may have
    // changed.
    file_ = std::make_unique<reading::ProfileFile>(std::filesystem::absolute(path).string());
    if (file_->problem()) {
      const Error problem = *file_->problem();
      file_.reset();
      throw Error(problem);
    }
  });
}

int gpuprof_abi_version(void) { return GPUPROF_ABI_VERSION; }

const char* gpuprof_version(void) { return version.data(); }

int gpuprof_open(const char* path, gpuprof_run** run) { return c_api::open_handle(path, run); }

void gpuprof_close(gpuprof_run* run) { delete run; }

const char* gpuprof_error(const gpuprof_run* run) { return run->error(); }
const char* gpuprof_hint(const gpuprof_run* run) { return run->hint(); }

void gpuprof_stop(gpuprof_run* run) { run->stop(); }

int gpuprof_contents(gpuprof_run* run, const char** text) {
  return run->guarded([&] {
    reading::ProfileFile& file = run->file();
    const auto all = report::read_contents(file, file.path(), {}, [](std::string_view) {});
    run->give(json_text(all), text);
  });
}

int gpuprof_catalogue(gpuprof_run* run, const char** text) {
  return run->guarded([&] {
    Json all;
    run->ask([&](store::Database& database) {
      all = Json::array();
      for (const Object& object : objects(database)) all.push_back(describe(database, object));
    });
    run->give(json_text(all), text);
  });
}

int gpuprof_table(gpuprof_run* run, const char* request, ArrowArrayStream* stream) {
  *stream = {};
  return run->guarded([&] {
    const c_api::Request wanted = c_api::read_request(request);
    const auto rows = [&](store::Database& database) {
      return with_front(wanted, read(database, wanted, [&] { run->check(); }));
    };
    run->stream(rows, stream);
  });
}

int gpuprof_sql(gpuprof_run* run, const char* sql, ArrowArrayStream* stream) {
  *stream = {};
  return run->guarded([&] {
    const bool named = std::ranges::any_of(report::named_queries(),
                                           [&](const auto& query) { return query.sql == sql; });
    const auto rows = [&](store::Database& database) {
      if (named) report::add_computed_tables(database);
      return c_api::read_answer(database, sql, [&] { run->check(); });
    };
    run->stream(rows, stream);
  });
}

const char* gpuprof_queries(void) {
  static const std::string text = [] {
    Json all = Json::array();
    for (const report::NamedQuery& query : report::named_queries()) {
      all.push_back({{"name", query.name}, {"question", query.question()}, {"sql", query.sql}});
    }
    return all.dump();
  }();
  return text.c_str();
}

int gpuprof_memory(gpuprof_run* run, const char* request, ArrowArrayStream* stream) {
  *stream = {};
  return run->guarded([&] {
    const c_api::MemoryRequest wanted = c_api::read_memory_request(request);
    const auto rows = [&](store::Database& database) {
      return with_front(wanted.request,
                        c_api::read_memory(database, wanted, [&] { run->check(); }));
    };
    run->stream(rows, stream);
  });
}

int gpuprof_accounts(gpuprof_run* run, const char* request, ArrowArrayStream* stream) {
  *stream = {};
  return run->guarded([&] {
    const std::vector<reading::Window> windows = c_api::read_windows(request);
    const auto rows = [&](store::Database& database) {
      return c_api::read_accounts(database, windows, [&] { run->check(); });
    };
    run->stream(rows, stream);
  });
}

int gpuprof_join(ArrowArrayStream* streams, int64_t count, ArrowArrayStream* stream) {
  *stream = {};
  try {
    std::vector<c_api::Owned<ArrowArrayStream>> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      all.emplace_back(streams[i]);
      streams[i] = {};
    }
    *stream = c_api::join(std::move(all));
    return 0;
  } catch (const Error& error) {
    return static_cast<int>(error.exit_code());
  } catch (...) {
    return static_cast<int>(ExitCode::internal);
  }
}

int gpuprof_report(gpuprof_run* run, const char* names, const char* layout, const char** text) {
  return run->guarded([&] {
    const report::ReportOptions options = options_of(names, layout);
    std::string printed;
    run->ask([&](store::Database& database) {
      std::ostringstream out;
      report::print_reports(database, out, options);
      printed = std::move(out).str();
    });
    run->give(valid_utf8(printed), text);
  });
}

int gpuprof_notes(gpuprof_run* run, const char** text) {
  return run->guarded([&] { run->give(valid_utf8(run->notes()), text); });
}
