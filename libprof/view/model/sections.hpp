// Sections of a record's details: what the file has on it in other tables.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/view/model/model.hpp"
#include "schema/traits.hpp"

namespace gpuprof::view {

// The record being shown. Missing values are 0.
struct Subject {
  store::Database& database;
  reading::Tables& tables;
  reading::Names& names;
  std::string kind;  // without "CUPTI_ACTIVITY_KIND_"; empty: none
  std::int64_t correlation = 0, process = 0, device = 0, context = 0, stream = 0;
  std::int64_t name = 0;  // for a kernel: string id
  std::int64_t node = 0;  // of a graph

  bool is_kernel() const { return schema::is_kernel_kind(kind); }
  bool is_work() const { return schema::is_gpu_kind(kind); }
  bool is_call() const {
    return std::ranges::find(schema::api_kinds, kind, &schema::ApiKind::kind) !=
           schema::api_kinds.end();
  }
};

// The call with the record's correlation id. If there are several, because runtime calls make
// driver calls, the outermost.
struct Call {
  std::string table;
  std::int64_t id = 0, begin = 0;
  std::string name;
};
std::optional<Call> find_call(Subject& subject);

// Each section has no rows if the file has no such data.
//
// Measurements of a launch, by correlation id: for a kernel, or for the call that launched it.
Section read_metrics(Subject& subject);
Section read_sass_metrics(Subject& subject);
// Where the call with that correlation id comes from; of work of a graph, the call that made its
// node, if that is known.
struct CodePlace {
  std::string line;  // of Python: "model.py:88 Model.forward"; empty: not known
  Section stack;     // one frame per row, innermost first
};
CodePlace read_stack(Subject& subject);

// PC samples of a kernel's function; lines with the most samples first.
Section read_hot_lines(Subject& subject);

// In the order in which they are shown.
inline constexpr std::array all_sections{read_metrics, read_sass_metrics, read_hot_lines};

}  // namespace gpuprof::view
