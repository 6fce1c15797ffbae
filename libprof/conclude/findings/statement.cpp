#include "libprof/conclude/findings/statement.hpp"

#include <string_view>
#include <utility>

namespace gpuprof::findings {
namespace {

// Without the waits, the host would be ahead by the time that it has waited, and gaps that began in
// a wait would be shorter by no more: with `dry` as the sum of these gaps, `ahead` is the least of
// what they and the waits allow, at every gap so far.
constexpr std::string_view gaps_sql = R"(,
waits AS (
  SELECT b.correlation_id >> 32 AS process, b.start AS time, b."end" AS until, NULL AS gap,
         NULL AS device, NULL AS stop, NULL AS no_call, NULL AS launch, NULL AS queued, NULL AS what
  FROM blocking_calls AS b CROSS JOIN span AS s
  WHERE b.start < b."end" AND b.start < s.last AND b."end" > s.first
  UNION ALL
  SELECT correlationId >> 32, start, NULL, _id_, deviceId, stop, min(noCallTime, stop - start),
         min(launchTime, stop - start), min(queuedTime, stop - start), nullif(nameBehind, 0)
  FROM GPU_GAP),
waited AS (
  SELECT *, max(until) OVER p > time AS after_wait, sum(until - time) OVER p AS waited
  FROM waits
  WINDOW p AS (PARTITION BY process ORDER BY time, gap ROWS UNBOUNDED PRECEDING)),
idle AS (
  SELECT w.device, w.process, max(w.time, s.first) AS first, min(w.stop, s.last) AS last,
         w.stop - w.time AS length, w.no_call, w.launch, w.queued,
         coalesce(w.after_wait, 0) AS after_wait, w.waited, w.what
  FROM waited AS w CROSS JOIN span AS s
  WHERE w.gap IS NOT NULL AND w.time < s.last AND w.stop > s.first),
dry AS (
  SELECT *, sum(CASE WHEN after_wait THEN last - first ELSE 0 END) OVER p AS dry
  FROM idle
  WINDOW p AS (PARTITION BY device, process ORDER BY first ROWS UNBOUNDED PRECEDING)),
ahead AS (
  SELECT *, dry + min(0, min(CASE WHEN after_wait THEN waited - dry ELSE 0 END) OVER p) AS ahead
  FROM dry
  WINDOW p AS (PARTITION BY device, process ORDER BY first ROWS UNBOUNDED PRECEDING)),
gaps AS (
  SELECT *, ahead - lag(ahead, 1, 0) OVER (PARTITION BY device, process ORDER BY first) AS saved
  FROM ahead))";

// What each part of the account gives, at most what is left of it.
constexpr std::string_view end_sql = R"(),
drawn AS (
  SELECT r.device, r.part, CAST(min(sum(f.ns), max(r.ns)) AS INTEGER) AS ns, sum(f.count) AS count
  FROM found AS f JOIN room AS r ON r.device = f.device AND r.part = f.part
  WHERE f.ns > 0
  GROUP BY r.device, r.part)
SELECT d.device, d.part, d.ns, sum(d.ns) OVER (PARTITION BY d.device) AS at_most_ns, d.count,
       m.first, m.last, m.what
FROM drawn AS d
JOIN (SELECT device, part, max(ns), first, last, what FROM found GROUP BY device, part) AS m
  ON m.device = d.device AND m.part = d.part
WHERE d.ns > 0
ORDER BY d.device, d.ns DESC, d.part;
)";

bool reads(const Rule& rule, std::string_view table) {
  return rule.sql.find(std::string("FROM ").append(table)) != std::string_view::npos;
}

std::string sql_word(std::string_view word) { return "'" + std::string(word) + "'"; }

class Values {
 public:
  explicit Values(std::string_view table) : sql_(std::string(table) + " AS (VALUES") {}
  void add(const std::vector<std::string>& row) {
    sql_ += std::exchange(any_, true) ? ",\n  (" : "\n  (";
    for (std::size_t i = 0; i < row.size(); ++i) sql_ += (i ? ", " : "") + row[i];
    sql_ += ')';
  }
  std::string text() const { return sql_ + ')'; }

 private:
  std::string sql_;
  bool any_ = false;
};

// The part of the account that a row of it is in; empty for none.
std::string part_of(const compute::AccountPart& part) {
  if (part.what == "before" || part.what == "after") return {};
  std::string name(part.what);
  if (part.what == "copy") name += " " + std::to_string(part.cause);
  return name;
}

}  // namespace

std::vector<AccountLine> account_lines(const compute::Accounts& accounts) {
  std::vector<AccountLine> lines;
  for (const auto& [device, parts] : accounts.devices) {
    for (const compute::AccountPart& part : parts) {
      AccountLine line{
          .device = device, .part = part_of(part), .ns = part.duration, .count = part.intervals};
      if (line.part.empty()) continue;
      if (part.is_of_function()) {
        line.domain = compute::is_of_driver(part.cause) ? "driver" : "runtime";
        line.cause = compute::cbid_of(part.cause);
      }
      lines.push_back(std::move(line));
    }
  }
  return lines;
}

Room room_of(const std::vector<AccountLine>& account) {
  Room room;
  for (const AccountLine& line : account) room[line.device][line.part] += line.ns;
  return room;
}

std::string statement_of(const Rule& rule, const compute::AccountWindow& window,
                         const std::vector<AccountLine>& account, const Room& room) {
  Values span("WITH span(first, last)");
  span.add({std::to_string(window.first), std::to_string(window.last)});
  Values left("room(device, part, ns)");
  for (const auto& [device, parts] : room) {
    for (const auto& [part, ns] : parts) {
      left.add({std::to_string(device), sql_word(part), std::to_string(ns)});
    }
  }
  std::string sql = span.text() + ",\n" + left.text();
  if (reads(rule, "account")) {
    Values lines("account(device, part, domain, cause, ns, count)");
    for (const AccountLine& line : account) {
      lines.add({std::to_string(line.device), sql_word(line.part), sql_word(line.domain),
                 std::to_string(line.cause), std::to_string(line.ns), std::to_string(line.count)});
    }
    sql += ",\n" + lines.text();
  }
  if (reads(rule, "gaps")) sql += gaps_sql;
  return sql.append(",\nfound AS (\n").append(rule.sql).append(end_sql);
}

}  // namespace gpuprof::findings
