#include "libprof/conclude/compare/run.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/base/crc32c.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/report/account.hpp"

namespace gpuprof::compare {
namespace {

constexpr std::size_t most_shapes = 4;
constexpr std::size_t longest_name = 800;  // bytes

void read_facts(store::Database& database, reading::Tables& tables, Run& run) {
  const auto of_run = [&](const char* key) {
    return database.text("SELECT value FROM main.RUN WHERE key = '" + std::string(key) + "'")
        .value_or("");
  };
  if (tables.has("RUN", "value")) {
    run.driver = of_run("driver_version");
    run.lost = of_run("loss") == "1";
  }
  if (tables.has("PROCESS", "cupti_version")) {
    auto row = database.prepare("SELECT count(*), max(cupti_version) FROM main.PROCESS");
    if (row.step()) run.processes = row.integer(0), run.cupti = row.integer(1);
  }
  // Kind 3 is device memory.
  if (tables.has("MEMORY_MAXIMUM", "bytes")) {
    run.memory_peak = std::max<std::int64_t>(
        0, database
               .integer("SELECT max(bytes) FROM (SELECT sum(CAST(bytes AS REAL)) AS bytes "
                        "FROM main.MEMORY_MAXIMUM WHERE memoryKind = 3 GROUP BY deviceId)")
               .value_or(0));
  }
  reading::Names names(database, reading::NameStyle::modern);
  for (const std::int64_t id : names.devices()) {
    run.devices += (run.devices.empty() ? "" : ", ") + names.device_model(id);
  }
}

// Leaves out the time before the first work of any GPU, and after the last.
void leave_out_edges(report::TimeAccount& account) {
  for (const char* edge : {"before", "after"}) {
    const auto row_of = [edge](report::GpuAccount& gpu) {
      const auto row = std::ranges::find(gpu.rows, edge, &report::AccountRow::what);
      return row == gpu.rows.end() ? nullptr : &*row;
    };
    std::int64_t of_all = account.time;
    for (report::GpuAccount& gpu : account.gpus) {
      const report::AccountRow* const row = row_of(gpu);
      of_all = std::min(of_all, row ? row->duration : 0);
    }
    if (of_all == 0) continue;
    for (report::GpuAccount& gpu : account.gpus) row_of(gpu)->duration -= of_all;
    account.time -= of_all;
  }
}

// Grid and block.
using Shape = std::array<std::int32_t, 6>;

std::string text_of(const Shape& shape) {
  const auto size = [&](std::size_t at) {
    return std::to_string(shape[at]) + "x" + std::to_string(shape[at + 1]) + "x" +
           std::to_string(shape[at + 2]);
  };
  return "grid " + size(0) + ", block " + size(3);
}

// Launches of a name.
struct Launches {
  double time = 0, count = 0;
  std::vector<Shape> shapes = {};  // one more than most_shapes: there are too many

  void add_shape(const Shape& shape) {
    // Most kernels have one.
    if (!shapes.empty() && shapes.back() == shape) return;
    if (shapes.size() > most_shapes || std::ranges::find(shapes, shape) != shapes.end()) return;
    shapes.push_back(shape);
  }
};

std::string shape_text(std::vector<Shape> shapes) {
  if (shapes.size() > most_shapes) return "";
  std::ranges::sort(shapes);
  return joined(shapes, "; ", text_of);
}

void read_kernels(store::Database& database, const reading::Window& window, double scale,
                  const std::function<void()>& check, Run& run) {
  std::unordered_map<std::int32_t, Launches> by_name;
  store::Snapshot snapshot(database);
  for (const char* table : {"KERNEL", "CONCURRENT_KERNEL"}) {
    columns::Reader reader(snapshot, {.table = reading::table_name(table),
                                      .columns = {"start", "end", "name", "gridX", "gridY", "gridZ",
                                                  "blockX", "blockY", "blockZ"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto start = chunk[0].int64s(), end = chunk[1].int64s();
      const auto name = chunk[2].int32s();
      std::array<std::span<const std::int32_t>, 6> sizes;
      for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = chunk[3 + i].int32s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (start[row] <= 0 || end[row] < start[row]) {
          ++run.kernels_without_times;
        } else if (!(window.from && start[row] < *window.from) &&
                   !(window.to && start[row] >= *window.to)) {
          Launches& launches = by_name[name[row]];
          launches.time += static_cast<double>(end[row] - start[row]);
          ++launches.count;
          Shape shape;
          for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = sizes[i][row];
          if (shape[0] > 0) launches.add_shape(shape);
        }
      }
    });
  }
  reading::Names names(database, reading::NameStyle::modern);
  const bool has_short = database.has_column("StringTable", "short");
  std::map<std::string, std::vector<Shape>> shapes;
  for (const auto& [id, launches] : by_name) {
    const std::string& name = names.kernel(id);
    KernelUse& sum = run.kernels[name];
    sum.time += launches.time / scale;
    sum.launches += launches.count / scale;
    std::vector<Shape>& all = shapes[name];
    for (const Shape& shape : launches.shapes) {
      if (std::ranges::find(all, shape) == all.end()) all.push_back(shape);
    }
    if (!has_short || !sum.function.empty()) continue;
    auto function = database.prepare("SELECT short FROM main.StringTable WHERE _id_ = ?1");
    function.bind(1, std::int64_t{id});
    if (function.step()) sum.function = function.text(0);
  }
  for (auto& [name, use] : run.kernels) use.shape = shape_text(shapes[name]);
}

std::string abridged(std::string_view name) {
  if (name.size() <= longest_name) return std::string(name);
  const std::string sum = hexadecimal(crc32c(std::as_bytes(std::span(name))));
  return without_middle(name, longest_name / 2, longest_name / 4, "..." + sum + "...");
}

}  // namespace

void abridge_names(Run& run) {
  if (run.names_abridged) return;
  run.names_abridged = true;
  std::map<std::string, KernelUse> kernels;
  for (auto& [name, use] : run.kernels) {
    use.function = abridged(use.function);
    kernels[abridged(name)] = std::move(use);
  }
  run.kernels = std::move(kernels);
}

std::string shape_in(const std::vector<Run>& runs, const std::string& kernel) {
  std::optional<std::string> shape;
  for (const Run& run : runs) {
    const auto found = run.kernels.find(kernel);
    if (found == run.kernels.end()) continue;
    if (shape && *shape != found->second.shape) return "";
    shape = found->second.shape;
  }
  return shape.value_or("");
}

bool is_idle(const PartName& part) {
  constexpr std::string_view busy[]{"compute", "communication", "copy", "set"};
  return std::ranges::find(busy, part.first) == std::end(busy);
}

reading::JudgedWindow compared_period(store::Database& database, const reading::Filter& chosen) {
  reading::JudgedWindow period = reading::judged_window(database, chosen.from, chosen.to);
  if (period.of_steps() && !period.from_start_to_start) return {};
  return period;
}

Run read_run(store::Database& database, const reading::Filter& window,
             const std::function<void()>& check) {
  Run run;
  reading::Tables tables(database);
  read_facts(database, tables, run);
  const reading::JudgedWindow period = compared_period(database, window);
  report::TimeAccount account = report::read_account(database, period.window, check);
  if (!period.window.from && !period.window.to) leave_out_edges(account);
  run.device_count = static_cast<std::int64_t>(account.gpus.size());
  if (!run.has_work()) return run;
  run.steps = period.steps;
  const double steps = static_cast<double>(std::max<std::int64_t>(period.steps, 1));
  const double scale = steps * static_cast<double>(run.device_count);
  run.time = static_cast<double>(account.time) / steps;
  for (const report::GpuAccount& gpu : account.gpus) {
    for (const report::AccountRow& row : gpu.rows) {
      if (row.duration == 0) continue;
      run.parts[{row.what, row.cause}] += static_cast<double>(row.duration) / scale;
    }
  }
  read_kernels(database, period.window, scale, check, run);
  return run;
}

}  // namespace gpuprof::compare
