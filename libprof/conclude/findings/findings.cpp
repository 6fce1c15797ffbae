#include "libprof/conclude/findings/findings.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "libprof/base/percentiles.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/account.hpp"
#include "libprof/conclude/findings/memory_notes.hpp"
#include "libprof/conclude/findings/shared_tables.hpp"
#include "libprof/conclude/findings/simulated.hpp"
#include "libprof/conclude/findings/slow_steps.hpp"
#include "libprof/conclude/findings/statement.hpp"
#include "libprof/read/cost.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/one_number.hpp"
#include "libprof/read/steps_window.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::findings {
namespace {

using reading::is_of_content;
using reading::number;
using store::Statement;

constexpr std::int64_t most_cost = 10;     // percent of the program's time
constexpr std::int64_t few_measured = 10;  // one in ten kernels
constexpr std::string_view not_computable =
    "Tables or values of the file are not as gpuprof writes them.";

std::vector<std::string> find_doubts(store::Database& database, std::int64_t steps) {
  std::vector<std::string> doubts;
  if (const auto lost = number(database, "SELECT count(*) FROM losses"); lost.value_or(0) > 0) {
    doubts.emplace_back("Records are missing; gpuprof query FILE lost lists them.");
  }
  if (number(database, "SELECT 1 FROM KERNEL_TIME WHERE count > timed LIMIT 1")) {
    doubts.emplace_back("Kernels have no times.");
  }
  const reading::Cost cost = reading::read_cost(database);
  if (cost.known() && cost.of_program() / most_cost > cost.recorded / 100) {
    doubts.emplace_back("Recording took more than " + std::to_string(most_cost) +
                        " % of the time; gpuprof info FILE says for what.");
  }
  if (steps > 0 && steps < reading::few_steps) {
    doubts.push_back("There " + std::string(steps == 1 ? "is" : "are") + " only " +
                     count_of(steps, "step") + ".");
  }
  return doubts;
}

// Whether metrics of kernels held the program up, so that the host and the GPU waited for that.
bool kernels_were_measured(store::Database& database) {
  if (!database.has_table("METRIC_RANGE") || !database.has_table("KERNEL_TIME")) return false;
  const auto of = [&](const char* sql) { return number(database, sql).value_or(0); };
  const std::int64_t measured = of("SELECT count(*) FROM METRIC_RANGE WHERE kind = 'kernel'");
  return measured > 0 && measured > of("SELECT sum(count) FROM KERNEL_TIME") / few_measured;
}

bool is_idle(std::string_view part) {
  return part != "compute" && part != "communication" && part != "set" && !part.starts_with("copy");
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
         number(database, "SELECT 1 FROM " + store::quoted_name(need.table) +
                              (need.where.empty() ? "" : " WHERE " + std::string(need.where)) +
                              " LIMIT 1"));
    if (!there) return std::string(need.otherwise);
  }
  return {};
}

class Reading {
 public:
  Reading(store::Snapshot& snapshot, const compute::Accounts& accounts, std::int64_t zero,
          const reading::JudgedWindow& judged)
      : database_(snapshot.database()),
        accounts_(accounts),
        tables_(snapshot, accounts.window, span_of(accounts.window)),
        zero_(zero),
        names_(database_, reading::NameStyle::compatible),
        account_(account_lines(accounts)),
        room_(room_of(account_)),
        measured_(kernels_were_measured(database_)),
        snapshot_(snapshot),
        judged_(judged) {}

  Findings read(const std::function<void()>& check) {
    result_.begin = relative(accounts_.window.first);
    result_.end = relative(accounts_.window.last);
    if (measured_) {
      for (auto& [device, parts] : room_)
        std::erase_if(parts, [](const auto& part) { return is_idle(part.first); });
    }
    read_devices();
    if (room_.empty()) return std::move(result_);
    result_.steps = reading::count_steps(database_, accounts_.window.first, accounts_.window.last);
    result_.doubts = find_doubts(database_, result_.steps);
    slow_ = read_slow_steps(snapshot_, judged_, room_, check);
    for (const Rule* rule : rules()) {
      check();
      judge(*rule, check);
    }
    return std::move(result_);
  }

 private:
  void read_devices() {
    report::TimeAccount account = report::account_of(database_, accounts_);
    auto gpu = account.gpus.begin();
    for (const auto& [id, parts] : accounts_.devices) {
      Device device{.id = id,
                    .name = std::move(gpu->name),
                    .measured = measured_,
                    .rows = std::move(gpu->rows)};
      ++gpu;
      std::int64_t before = 0, whole = 0;
      for (const compute::AccountPart& part : parts) {
        if (part.what == "before") before = part.duration;
        if (part.what == "compute") device.compute += part.duration;
        if (part.what == "communication") device.communication += part.duration;
        if (part.what == "copy") device.copy += part.duration;
        if (part.what == "set") device.set += part.duration;
        if (part.what == "before" || part.what == "after") continue;
        whole += part.duration;
        if (!measured_ || !is_idle(part.what)) device.time += part.duration;
      }
      device.begin = result_.begin + before;
      if (const auto its = room_.find(id); its != room_.end()) device.parts = its->second;
      if (whole > 0) result_.devices.push_back(std::move(device));
    }
  }

  void judge(const Rule& rule, const std::function<void()>& check) {
    Judgement& judgement = result_.judgements.emplace_back(Judgement{.rule = &rule});
    judgement.abstains = missing(database_, rule);
    if (!judgement.abstains.empty()) return;
    const auto statement = [&](const std::string& shared) {
      return statement_of(rule, accounts_.window, account_, room_, slow_, shared);
    };
    judgement.sql = statement(tables_.sql_for(rule));
    try {
      tables_.make_for(rule, check);
      std::vector<Finding> found = ask(rule, statement(""));
      if (!found.empty() && (rule.mends & simulate::kernels)) {
        ask_for_kernels(found,
                        kernels_statement_of(rule, accounts_.window, account_, room_, slow_, ""));
      }
      for (Finding& finding : found) keep(std::move(finding));
    } catch (const store::DatabaseError& error) {
      if (!is_of_content(error)) throw;
      judgement.abstains = not_computable;
    } catch (const Error&) {  // of Database::ask
      judgement.abstains = not_computable;
    }
  }

  std::vector<Finding> ask(const Rule& rule, const std::string& sql) {
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
    return found;
  }

  void ask_for_kernels(std::vector<Finding>& found, const std::string& sql) {
    Statement row = database_.ask(sql, false);
    while (row.step()) {
      const auto its = std::ranges::find(found, row.integer(0), &Finding::device);
      if (its != found.end()) its->kernels[row.integer(1)] = row.integer(2);
    }
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

  // A kernel of idle time is the one that ended it.
  std::string words(const Statement& row, std::string_view part, int column) {
    if (row.type(column) == Statement::Type::text) return std::string(row.text(column));
    if (row.type(column) != Statement::Type::integer) return {};
    const bool ran = part == "compute" || part == "communication";
    return (ran ? "" : "before ") + names_.kernel(row.integer(column));
  }

  std::int64_t relative(std::int64_t time) const { return saturating_subtract(time, zero_); }

  store::Database& database_;
  const compute::Accounts& accounts_;
  SharedTables tables_;
  const std::int64_t zero_;
  reading::Names names_;
  const std::vector<AccountLine> account_;
  Room room_;  // what is left
  const bool measured_;
  store::Snapshot& snapshot_;
  const reading::JudgedWindow& judged_;
  SlowSteps slow_ = {};
  Findings result_;
};

std::optional<std::int64_t> median_of_steps(const reading::JudgedWindow& judged) {
  std::vector<std::int64_t> times = judged.starts;
  if (times.empty()) return std::nullopt;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::int64_t next = i + 1 < times.size() ? times[i + 1] : *judged.window.to;
    times[i] = saturating_subtract(next, times[i]);
  }
  return at_place(times, times.size() / 2);
}

// Those that save most come first.
void rank(std::vector<Finding>& findings) {
  constexpr std::int64_t of_hint = 20;  // a twentieth of its bound counts
  const auto saves = [](const Finding& finding) {
    const bool is_hint = finding.rule->confidence == Confidence::low;
    return finding.simulated.value_or(finding.at_most) / (is_hint ? of_hint : 1);
  };
  std::ranges::stable_sort(findings, std::greater<>(), saves);
}

}  // namespace

const Device& Findings::device(std::int64_t id) const {
  return *std::ranges::find(devices, id, &Device::id);
}

Findings read_findings(store::Database& database, const reading::Moment& from,
                       const reading::Moment& to, const std::function<void()>& check) {
  const reading::JudgedWindow judged = reading::judged_window(database, from, to);
  const reading::Window& window = judged.window;
  reading::Tables tables(database);
  const std::int64_t zero = reading::zero_of_run(tables).value_or(0);
  store::Snapshot snapshot(database, {.twice = true});
  Simulated simulated(snapshot, window);
  const compute::Accounts accounts =
      compute::read_accounts(snapshot, {window.from, window.to}, check, [&] { simulated.go_on(); });
  if (accounts.devices.empty()) return {};
  snapshot.database().release_memory();
  Findings findings = Reading(snapshot, accounts, zero, judged).read(check);
  findings.of_steps = judged.of_steps();
  findings.warm_up = judged.warm_up;
  findings.median_step = median_of_steps(judged);
  simulated.fill_in(findings, judged.starts, check);
  rank(findings.findings);
  findings.notes = memory_notes(snapshot.database(), judged);
  return findings;
}

}  // namespace gpuprof::findings
