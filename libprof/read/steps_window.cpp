#include "libprof/read/steps_window.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/read/one_number.hpp"
#include "libprof/read/tables.hpp"

namespace gpuprof::reading {
namespace {

struct Steps {
  std::vector<std::int64_t> starts;  // in order
  std::int64_t end = 0;              // of the last that ended
};

Steps read_steps(store::Database& database) {
  Steps steps;
  try {
    auto rows = database.prepare(
        "SELECT start, coalesce(stop, 0) FROM STEP WHERE start > 0 AND (processId, threadId) = "
        "(SELECT processId, threadId FROM STEP WHERE start > 0 GROUP BY 1, 2 "
        "ORDER BY count(*) DESC, 1, 2 LIMIT 1) ORDER BY start");
    while (rows.step()) {
      steps.starts.push_back(rows.integer(0));
      steps.end = std::max(steps.end, rows.integer(1));
    }
  } catch (const store::DatabaseError& error) {
    if (!is_of_content(error)) throw;
    return {};
  }
  return steps;
}

// How many steps at the begin are not like those after them.
std::size_t warm_up_of(const std::vector<std::int64_t>& starts) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    times.push_back(saturating_subtract(starts[i + 1], starts[i]));
  }
  std::vector<std::int64_t> sorted = times;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  std::size_t warm_up = 1;
  while (warm_up < times.size() / 2 && times[warm_up] / 3 > *middle / 2) ++warm_up;
  return warm_up;
}

JudgedWindow window_of_steps(store::Database& database) {
  const auto [starts, end] = read_steps(database);
  if (starts.empty()) return {};
  const auto count = static_cast<std::int64_t>(starts.size());
  JudgedWindow judged;
  if (count > few_steps) {
    const std::size_t warm_up = warm_up_of(starts);
    judged = {.window = {.from = starts[warm_up], .to = starts.back()},
              .steps = count - 1 - static_cast<std::int64_t>(warm_up),
              .warm_up = static_cast<std::int64_t>(warm_up),
              .from_start_to_start = true,
              .starts = {starts.begin() + static_cast<std::ptrdiff_t>(warm_up), starts.end() - 1}};
  } else {
    const std::int64_t warm_up = count == few_steps ? 1 : 0;
    judged = {.window = {.from = starts[static_cast<std::size_t>(warm_up)], .to = end},
              .steps = count - warm_up,
              .warm_up = warm_up};
  }
  return *judged.window.from < *judged.window.to ? judged : JudgedWindow{};
}

}  // namespace

std::string warm_up_words(std::int64_t warm_up) {
  if (warm_up == 0) return "";
  return warm_up == 1 ? "without the first" : "without the first " + std::to_string(warm_up);
}

std::int64_t count_steps(store::Database& database, std::int64_t first, std::int64_t last) {
  return number(database, "SELECT max(n) FROM (SELECT count(*) AS n FROM STEP WHERE start >= " +
                              std::to_string(first) + " AND start < " + std::to_string(last) +
                              " GROUP BY processId, threadId)")
      .value_or(0);
}

JudgedWindow judged_window(store::Database& database, const Moment& from, const Moment& to) {
  Tables tables(database);
  const Window chosen =
      find_window(tables, from, to, [&] { return zero_of_run(tables).value_or(0); });
  if (chosen.from || chosen.to) return {.window = chosen};
  return window_of_steps(database);
}

}  // namespace gpuprof::reading
