// The functions of gpuprof.h. No exception crosses them.
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "gpuprof_version.hpp"
#include "libprof/base/error.hpp"
#include "libprof/c_api/run.hpp"
#include "libprof/c_api/stream.hpp"
#include "libprof/report/query.hpp"

using gpuprof::c_api::Owned;

int gpuprof_abi_version(void) { return GPUPROF_ABI_VERSION; }

const char* gpuprof_version(void) { return gpuprof::version.data(); }

int gpuprof_open(const char* path, gpuprof_run** run) {
  *run = new (std::nothrow) gpuprof_run();
  if (!*run) return static_cast<int>(gpuprof::ExitCode::internal);
  return (*run)->open(path);
}

void gpuprof_close(gpuprof_run* run) { delete run; }

const char* gpuprof_error(const gpuprof_run* run) { return run->error(); }
const char* gpuprof_hint(const gpuprof_run* run) { return run->hint(); }

void gpuprof_stop(gpuprof_run* run) { run->stop(); }

int gpuprof_contents(gpuprof_run* run, const char** text) { return run->contents(text); }

int gpuprof_catalogue(gpuprof_run* run, const char** text) { return run->catalogue(text); }

int gpuprof_table(gpuprof_run* run, const char* request, ArrowArrayStream* stream) {
  *stream = {};
  return run->table(request, stream);
}

int gpuprof_sql(gpuprof_run* run, const char* sql, ArrowArrayStream* stream) {
  *stream = {};
  return run->sql(sql, stream);
}

const char* gpuprof_queries(void) {
  static const std::string text = [] {
    auto all = nlohmann::ordered_json::array();
    for (const gpuprof::report::NamedQuery& query : gpuprof::report::named_queries()) {
      all.push_back({{"name", query.name}, {"question", query.question()}, {"sql", query.sql}});
    }
    return all.dump();
  }();
  return text.c_str();
}

int gpuprof_memory(gpuprof_run* run, const char* request, ArrowArrayStream* stream) {
  *stream = {};
  return run->memory(request, stream);
}

int gpuprof_join(ArrowArrayStream* streams, int64_t count, ArrowArrayStream* stream) {
  *stream = {};
  try {
    std::vector<Owned<ArrowArrayStream>> all;
    all.reserve(static_cast<std::size_t>(count));
    for (int64_t i = 0; i < count; ++i) {
      all.emplace_back(streams[i]);
      streams[i] = {};
    }
    *stream = gpuprof::c_api::join(std::move(all));
    return 0;
  } catch (const gpuprof::Error& error) {
    return static_cast<int>(error.exit_code());
  } catch (...) {
    return static_cast<int>(gpuprof::ExitCode::internal);
  }
}

int gpuprof_report(gpuprof_run* run, const char* names, const char* layout, const char** text) {
  return run->report(names, layout, text);
}

int gpuprof_notes(gpuprof_run* run, const char** text) { return run->notes(text); }
