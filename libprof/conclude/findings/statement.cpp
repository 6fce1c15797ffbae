#include "libprof/conclude/findings/statement.hpp"

#include <string_view>
#include <utility>

#include "libprof/conclude/findings/shared_tables.hpp"
#include "libprof/conclude/findings/slow_steps.hpp"

namespace gpuprof::findings {
namespace {

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

constexpr std::string_view kernels_sql = R"()
SELECT device, what, sum(ns) AS ns
FROM found
WHERE ns > 0 AND part = 'compute' AND typeof(what) = 'integer'
GROUP BY device, what
)";

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

std::string slow_steps_sql(const SlowSteps& slow) {
  constexpr char head[] = "slow_steps(device, part, first, last, ns, usual)";
  if (slow.steps.empty()) {
    return std::string(head) + " AS (SELECT NULL, NULL, NULL, NULL, NULL, NULL WHERE 0)";
  }
  Values rows(head);
  for (const SlowSteps::Step& step : slow.steps) {
    for (const auto& [device, parts] : step.parts) {
      for (const auto& [part, ns] : parts) {
        rows.add({std::to_string(device), sql_word(part), std::to_string(step.first),
                  std::to_string(step.last), std::to_string(ns),
                  std::to_string(slow.usual.at(device).at(part))});
      }
    }
  }
  return rows.text();
}

// Up to the rows of the rule, which are not closed.
std::string rows_of(const Rule& rule, const compute::AccountWindow& window,
                    const std::vector<AccountLine>& account, const Room& room,
                    const SlowSteps& slow, const std::string& shared) {
  Values left("room(device, part, ns)");
  for (const auto& [device, parts] : room) {
    for (const auto& [part, ns] : parts) {
      left.add({std::to_string(device), sql_word(part), std::to_string(ns)});
    }
  }
  std::string sql = span_of(window) + ",\n" + left.text();
  if (reads(rule, "account")) {
    Values lines("account(device, part, domain, cause, ns, count)");
    for (const AccountLine& line : account) {
      lines.add({std::to_string(line.device), sql_word(line.part), sql_word(line.domain),
                 std::to_string(line.cause), std::to_string(line.ns), std::to_string(line.count)});
    }
    sql += ",\n" + lines.text();
  }
  if (reads(rule, "slow_steps")) sql += ",\n" + slow_steps_sql(slow);
  sql += shared;
  return sql.append(",\nfound AS (\n").append(rule.sql);
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

std::string span_of(const compute::AccountWindow& window) {
  Values span("WITH span(first, last)");
  span.add({std::to_string(window.first), std::to_string(window.last)});
  return span.text();
}

std::string statement_of(const Rule& rule, const compute::AccountWindow& window,
                         const std::vector<AccountLine>& account, const Room& room,
                         const SlowSteps& slow, const std::string& shared) {
  return rows_of(rule, window, account, room, slow, shared).append(end_sql);
}

std::string kernels_statement_of(const Rule& rule, const compute::AccountWindow& window,
                                 const std::vector<AccountLine>& account, const Room& room,
                                 const SlowSteps& slow, const std::string& shared) {
  return rows_of(rule, window, account, room, slow, shared).append(kernels_sql);
}

}  // namespace gpuprof::findings
