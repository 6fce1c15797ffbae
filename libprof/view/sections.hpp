// What the file has of a record besides its columns, each a section of its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {

// A record that is looked at. What it has not is 0.
struct Subject {
  store::Database& database;
  reading::Tables& tables;
  reading::Names& names;
  std::string kind;  // without "CUPTI_ACTIVITY_KIND_"; empty: of none
  std::int64_t correlation = 0, process = 0, device = 0, context = 0, stream = 0;
  std::int64_t name = 0;  // of a kernel: string id

  bool is_kernel() const { return schema::is_kernel_kind(kind); }
  bool is_work() const { return schema::is_gpu_kind(kind); }
  bool is_call() const {
    return std::ranges::find(schema::api_kinds, kind, &schema::ApiKind::kind) !=
           schema::api_kinds.end();
  }
};

// The call of the record's correlation id; of several, as runtime calls make driver calls, the
// outermost.
struct Call {
  std::string table;
  std::int64_t id = 0, begin = 0;
  std::string name;
};
std::optional<Call> find_call(Subject& subject);

// Each without rows where the file has nothing of the kind.
//
// What was measured of a launch, by its correlation id: of a kernel, and of the call that launched
// it.
Section read_metrics(Subject& subject);
Section read_sass_metrics(Subject& subject);
// Of the call of that correlation id: a frame each, the innermost first.
Section read_stack(Subject& subject);

// PC samples of a kernel's function, the lines with the most first.
Section read_hot_lines(Subject& subject);

}  // namespace gpuprof::view
