#include "libprof/read/window.hpp"

#include <algorithm>
#include <cmath>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "schema/database.hpp"
#include "schema/traits.hpp"

namespace gpuprof::reading {
namespace {

// Both ends; without an end: it was never closed.
Window range_named(Tables& tables, const std::string& name) {
  store::Database& database = tables.database();
  if (tables.has("NVTX_RANGE", "stop")) {
    auto range = database.prepare("SELECT r.start, r.stop FROM " + tables.schema() +
                                  ".NVTX_RANGE AS r JOIN " + tables.schema() +
                                  ".StringTable AS s ON s._id_ = r.name "
                                  "WHERE s.value = ?1 ORDER BY r.start LIMIT 1");
    if (range.bind(1, name).step()) {
      Window times{.from = range.integer(0), .to = {}};
      if (!range.is_null(1)) times.to = range.integer(1);
      return times;
    }
  }
  throw Error("no NVTX range is called " + name, "the view nvtx_ranges has their names",
              ExitCode::bad_option);
}

}  // namespace

std::optional<Moment> parse_moment(std::string_view text) {
  constexpr std::string_view nvtx = "nvtx:";
  if (text.starts_with(nvtx) && text.size() > nvtx.size()) {
    return Moment{.range = std::string(text.substr(nvtx.size())), .text = std::string(text)};
  }
  // As reports print them: also "1.2e+03s", and "-3.5ms" for a sample before the first record.
  const std::size_t digits = std::min(text.find_first_not_of("0123456789.e+-"), text.size());
  const std::string_view unit = text.substr(digits);
  const double factor = unit.empty() || unit == "s" ? 1e9
                        : unit == "ms"              ? 1e6
                        : unit == "us"              ? 1e3
                        : unit == "ns"              ? 1
                                                    : 0;
  const auto number = parse<double>(text.substr(0, digits));
  if (unit.empty() && text.find_first_of("e+-") != text.npos) return std::nullopt;
  if (!number || factor == 0 || !(std::abs(*number * factor) < 9e18)) return std::nullopt;
  return Moment{.ns = std::llround(*number * factor), .text = std::string(text)};
}

std::optional<std::int64_t> zero_of_run(Tables& tables) {
  store::Database& database = tables.database();
  // A foreign file may have a table of that name too.
  if (tables.has("RUN", "key") && tables.has("RUN", "value")) {
    const auto zero = database.integer("SELECT value FROM " + tables.schema() +
                                       ".RUN WHERE key = 'zero_ns' AND typeof(value) = 'integer'");
    if (zero) return zero;
  }
  std::optional<std::int64_t> first;
  for (const schema::FirstTime& time : schema::first_times) {
    const std::string table = table_name(time.kind), column(time.column);
    if (!tables.has(table, column)) continue;
    const auto earliest = database.integer("SELECT min(" + column + ") FROM " + tables.schema() +
                                           "." + table + " WHERE " + column + " > 0");
    if (earliest && (!first || *earliest < *first)) first = earliest;
  }
  return first;
}

Window find_window(Tables& tables, const Moment& from, const Moment& to,
                   const std::function<std::int64_t()>& zero) {
  Window window;
  if (!from.range.empty()) window.from = range_named(tables, from.range).from;
  if (!to.range.empty()) window.to = range_named(tables, to.range).to;
  if (from.ns) window.from = saturating_add(zero(), *from.ns);
  if (to.ns) window.to = saturating_add(zero(), *to.ns);
  return window;
}

}  // namespace gpuprof::reading
