#include "libprof/c_api/account_rows.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/report/account.hpp"

namespace gpuprof::c_api {
namespace {

constexpr std::size_t most_windows = 100'000;

[[noreturn]] void refuse_windows(const std::string& why) {
  throw Error("the question for accounts: " + why, "gpuprof.h says what gpuprof_accounts() takes",
              ExitCode::bad_option);
}

std::optional<std::int64_t> time_of(const nlohmann::json& its) {
  if (its.is_null()) return std::nullopt;
  if (!its.is_number_integer()) refuse_windows("a time is a whole number of ns, or null");
  return its.get<std::int64_t>();
}

reading::Window window_of(const nlohmann::json& its) {
  if (!its.is_array() || its.size() != 2) refuse_windows("a window is [from, to]");
  const reading::Window window{.from = time_of(its[0]), .to = time_of(its[1])};
  if (window.from && window.to && *window.from >= *window.to) {
    refuse_windows("a window ends before it begins");
  }
  return window;
}

}  // namespace

std::vector<reading::Window> read_windows(std::string_view json) {
  const nlohmann::json all = nlohmann::json::parse(json, nullptr, false);
  const auto given = all.is_object() ? all.find("windows") : all.end();
  if (given == all.end() || !given->is_array() || all.size() != 1) {
    refuse_windows("it is not an object with a list of windows");
  }
  if (given->size() > most_windows) {
    refuse_windows("more than " + std::to_string(most_windows) + " windows");
  }
  std::vector<reading::Window> windows;
  for (const auto& each : *given) windows.push_back(window_of(each));
  return windows;
}

std::vector<ArrowColumn> read_accounts(store::Database& database,
                                       const std::vector<reading::Window>& windows,
                                       const std::function<void()>& check) {
  std::vector<ArrowColumn> columns;
  columns.emplace_back("window", Kind::int64);
  columns.emplace_back("device_id", Kind::int64);
  columns.emplace_back("class", Kind::text);
  columns.emplace_back("cause", Kind::text);
  columns.emplace_back("duration", Kind::int64);
  columns.emplace_back("intervals", Kind::int64);
  std::int64_t place = 0;
  for (const report::TimeAccount& account : report::read_accounts(database, windows, check)) {
    for (const report::GpuAccount& gpu : account.gpus) {
      for (const report::AccountRow& row : gpu.rows) {
        const AnyValue cause = row.cause.empty() ? AnyValue() : AnyValue(row.cause);
        const AnyValue values[]{place, gpu.id, row.what, cause, row.duration, row.intervals};
        for (std::size_t i = 0; i < columns.size(); ++i) columns[i].add(values[i]);
      }
    }
    ++place;
  }
  return columns;
}

}  // namespace gpuprof::c_api
