#include "libprof/findings/findings.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/account.hpp"
#include "libprof/findings/statement.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::findings {
namespace {

using store::Statement;

// With fewer, what is found may belong to starting up.
constexpr std::int64_t few_steps = 3;

// Whether it is because tables or values of the file are not as gpuprof writes them: a column is
// missing, a sum overflows.
bool is_of_content(const store::DatabaseError& error) {
  return error.of_statement() || error.kind() == store::DatabaseError::Kind::other;
}
constexpr std::string_view not_computable =
    "Tables or values of the file are not as gpuprof writes them.";

// nullopt also if the file lacks the table.
std::optional<std::int64_t> number(store::Database& database, std::string_view sql) {
  try {
    return database.integer(sql);
  } catch (const store::DatabaseError& error) {
    if (!is_of_content(error)) throw;
    return std::nullopt;
  }
}

// What is judged if nothing is chosen: the steps of the process with most, without the first, which
// loads and allocates what all need, if the others are enough. nullopt: there are none.
struct StepsWindow {
  reading::Window window;
  bool without_first = false;
};
std::optional<StepsWindow> window_of_steps(store::Database& database) {
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
  return StepsWindow{.window = {.from = from, .to = to}, .without_first = without_first};
}

std::int64_t count_steps(store::Database& database, const compute::AccountWindow& window) {
  return number(database, "SELECT max(n) FROM (SELECT count(*) AS n FROM STEP WHERE start >= " +
                              std::to_string(window.first) + " AND start < " +
                              std::to_string(window.last) + " GROUP BY processId)")
      .value_or(0);
}

std::vector<std::string> find_doubts(store::Database& database, std::int64_t steps) {
  std::vector<std::string> doubts;
  if (const auto lost = number(database, "SELECT count(*) FROM losses"); lost.value_or(0) > 0) {
    doubts.emplace_back("Records are missing; gpuprof query FILE lost lists them.");
  }
  if (number(database, "SELECT 1 FROM KERNEL_TIME WHERE count > timed LIMIT 1")) {
    doubts.emplace_back("Kernels have no times.");
  }
  if (steps > 0 && steps < few_steps) {
    doubts.push_back("There " + std::string(steps == 1 ? "is" : "are") + " only " +
                     count_of(steps, "step") + ".");
  }
  return doubts;
}

Confidence lowered(Confidence confidence) {
  return confidence == Confidence::high ? Confidence::medium : Confidence::low;
}

// Why the rule cannot be asked; empty: it can.
std::string missing(store::Database& database, const Rule& rule) {
  for (const Need& need : rule.needs) {
    if (need.table.empty()) continue;
    const bool there =
        database.has_table(need.table) &&
        (!need.rows ||
         number(database, "SELECT 1 FROM " + store::quoted_name(need.table) + " LIMIT 1"));
    if (!there) return std::string(need.otherwise);
  }
  return {};
}

class Reading {
 public:
  Reading(store::Database& database, const compute::Accounts& accounts, std::int64_t zero)
      : database_(database),
        accounts_(accounts),
        zero_(zero),
        names_(database, reading::NameStyle::compatible),
        account_(account_lines(accounts)),
        room_(room_of(account_)) {}

  Findings read(const std::function<void()>& check) {
    result_.begin = relative(accounts_.window.first);
    result_.end = relative(accounts_.window.last);
    read_devices();
    if (room_.empty()) return std::move(result_);
    result_.steps = count_steps(database_, accounts_.window);
    result_.doubts = find_doubts(database_, result_.steps);
    for (const Rule* rule : rules()) {
      check();
      judge(*rule);
    }
    std::ranges::stable_sort(result_.findings, std::greater{}, &Finding::at_most);
    return std::move(result_);
  }

 private:
  void read_devices() {
    for (const auto& [id, parts] : accounts_.devices) {
      Device device{.id = id, .name = names_.device(id)};
      std::int64_t before = 0;
      for (const compute::AccountPart& part : parts) {
        if (part.what == "before") before = part.duration;
        if (part.what == "compute") device.compute += part.duration;
        if (part.what == "communication") device.communication += part.duration;
        if (part.what == "copy") device.copy += part.duration;
        if (part.what == "set") device.set += part.duration;
        if (part.what != "before" && part.what != "after") device.time += part.duration;
      }
      device.begin = result_.begin + before;
      if (device.time > 0) result_.devices.push_back(std::move(device));
    }
  }

  void judge(const Rule& rule) {
    Judgement& judgement = result_.judgements.emplace_back(Judgement{.rule = &rule});
    judgement.abstains = missing(database_, rule);
    if (!judgement.abstains.empty()) return;
    judgement.sql = statement_of(rule, accounts_.window, account_, room_);
    try {
      ask(rule, judgement.sql);
    } catch (const store::DatabaseError& error) {
      if (!is_of_content(error)) throw;
      judgement.abstains = not_computable;
    } catch (const Error&) {  // of Database::ask
      judgement.abstains = not_computable;
    }
  }

  void ask(const Rule& rule, const std::string& sql) {
    std::vector<Finding> found;
    Statement row = database_.ask(sql, false);
    while (row.step()) {
      const std::int64_t device = row.integer(0);
      if (found.empty() || found.back().device != device) {
        found.push_back(
            {.rule = &rule,
             .device = device,
             .at_most = row.integer(3),
             .confidence = result_.doubts.empty() ? rule.confidence : lowered(rule.confidence)});
      }
      found.back().draws.push_back({.part = std::string(row.text(1)),
                                    .ns = row.integer(2),
                                    .count = row.integer(4),
                                    .first = moment(row, 5),
                                    .last = moment(row, 6),
                                    .what = words(row, row.text(1), 7)});
    }
    for (Finding& finding : found) keep(std::move(finding));
  }

  // Unless it is too little.
  void keep(Finding finding) {
    const auto time = static_cast<double>(result_.device(finding.device).time);
    finding.share = static_cast<double>(finding.at_most) / time;
    if (finding.share < finding.rule->least_share) return;
    for (const Draw& draw : finding.draws) room_[finding.device][draw.part] -= draw.ns;
    result_.findings.push_back(std::move(finding));
  }

  std::optional<std::int64_t> moment(const Statement& row, int column) const {
    if (row.is_null(column)) return std::nullopt;
    return relative(row.integer(column));
  }

  // A kernel of idle time is the one after it.
  std::string words(const Statement& row, std::string_view part, int column) {
    if (row.type(column) == Statement::Type::text) return std::string(row.text(column));
    if (row.type(column) != Statement::Type::integer) return {};
    return (part == "compute" ? "" : "before ") + names_.kernel(row.integer(column));
  }

  std::int64_t relative(std::int64_t time) const { return saturating_subtract(time, zero_); }

  store::Database& database_;
  const compute::Accounts& accounts_;
  const std::int64_t zero_;
  reading::Names names_;
  const std::vector<AccountLine> account_;
  Room room_;  // what is left
  Findings result_;
};

}  // namespace

const Device& Findings::device(std::int64_t id) const {
  return *std::ranges::find(devices, id, &Device::id);
}

Findings read_findings(store::Database& database, const reading::Moment& from,
                       const reading::Moment& to, const std::function<void()>& check) {
  reading::Tables tables(database);
  const auto zero = [&] { return reading::zero_of_run(tables).value_or(0); };
  reading::Window window = reading::find_window(tables, from, to, zero);
  store::Snapshot snapshot(database);
  const auto steps =
      window.from || window.to ? std::optional<StepsWindow>() : window_of_steps(database);
  if (steps) window = steps->window;
  const compute::Accounts accounts =
      compute::read_accounts(snapshot, window.from, window.to, check);
  if (accounts.devices.empty()) return {};
  Findings findings = Reading(database, accounts, zero()).read(check);
  findings.of_steps = steps.has_value();
  findings.without_first = steps && steps->without_first;
  return findings;
}

}  // namespace gpuprof::findings
