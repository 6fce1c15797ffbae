#include "libprof/read/steps_window.hpp"

#include <optional>
#include <string>

#include "libprof/read/one_number.hpp"
#include "libprof/read/tables.hpp"

namespace gpuprof::reading {
namespace {

std::optional<JudgedWindow> window_of_steps(store::Database& database) {
  const auto process = number(database,
                              "SELECT processId FROM STEP GROUP BY processId "
                              "ORDER BY count(*) DESC, processId LIMIT 1");
  if (!process) return std::nullopt;
  const std::string steps = " FROM STEP WHERE processId = " + std::to_string(*process);
  const auto count = number(database, "SELECT count(*)" + steps);
  const bool without_first = count.value_or(0) >= few_steps;
  const auto from = number(database, "SELECT start" + steps + " ORDER BY start LIMIT 1 OFFSET " +
                                         (without_first ? "1" : "0"));
  const auto to = number(database, "SELECT max(stop)" + steps);
  if (!from || !to || *from >= *to) return std::nullopt;
  return JudgedWindow{
      .window = {.from = from, .to = to}, .of_steps = true, .without_first = without_first};
}

}  // namespace

std::int64_t count_steps(store::Database& database, std::int64_t first, std::int64_t last) {
  return number(database, "SELECT max(n) FROM (SELECT count(*) AS n FROM STEP WHERE start >= " +
                              std::to_string(first) + " AND start < " + std::to_string(last) +
                              " GROUP BY processId)")
      .value_or(0);
}

JudgedWindow judged_window(store::Database& database, const Moment& from, const Moment& to) {
  Tables tables(database);
  const Window chosen =
      find_window(tables, from, to, [&] { return zero_of_run(tables).value_or(0); });
  if (chosen.from || chosen.to) return {.window = chosen};
  return window_of_steps(database).value_or(JudgedWindow{});
}

}  // namespace gpuprof::reading
