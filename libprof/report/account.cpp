#include "libprof/report/account.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/account.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/report/output.hpp"
#include "libprof/report/report_table.hpp"
#include "libprof/store/scan.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

AccountRow row_of(const compute::AccountPart& part, reading::Names& names) {
  AccountRow row{
      .what = std::string(part.what), .duration = part.duration, .intervals = part.intervals};
  if (part.what == "copy") {
    row.cause = schema::enum_name("CUpti_ActivityMemcpyKind", part.cause);
    if (row.cause.empty()) row.cause = std::to_string(part.cause);
  } else if (part.what == "call" && part.cause != 0) {
    using enum reading::ApiDomain;
    row.cause = names.api(compute::is_of_driver(part.cause) ? driver : runtime,
                          compute::cbid_of(part.cause));
  }
  return row;
}

double percent_of(const AccountRow& row, const TimeAccount& account) {
  return 100 * static_cast<double>(row.duration) / static_cast<double>(account.time);
}

void print_keyed(const TimeAccount& account, Output& output) {
  Table table(output, "account",
              {{.heading = "device_id", .quantity = Quantity::count, .key = "device_id"},
               {.heading = "class", .key = "class"},
               {.heading = "cause", .key = "cause"},
               {.heading = "duration_ns", .quantity = Quantity::count, .key = "duration_ns"},
               {.heading = "share", .quantity = Quantity::real, .key = "share"},
               {.heading = "intervals", .quantity = Quantity::count, .key = "intervals"}});
  table.heading();
  for (const GpuAccount& gpu : account.gpus) {
    for (const AccountRow& row : gpu.rows) {
      const Cell cause = row.cause.empty() ? Cell() : Cell(row.cause);
      const Cell cells[]{
          gpu.id, row.what, cause, row.duration, percent_of(row, account) / 100, row.intervals};
      table.row(cells);
    }
  }
}

// Text sums up the functions in which the host was for less than this.
constexpr double least_percent_of_a_call = 0.1;

void print_text(const TimeAccount& account, Output& output) {
  if (account.gpus.empty()) {
    output.line("No GPU work has times there: there is nothing to account for.");
    return;
  }
  for (const GpuAccount& gpu : account.gpus) {
    if (&gpu != account.gpus.data()) output.line();
    output.line(gpu.name + ", " + format_time(static_cast<std::uint64_t>(account.time)) + " from " +
                format_moment(account.begin) + " on:");
    Table table(output, "account",
                {{.heading = "Share", .width = 9, .quantity = Quantity::percent},
                 {.heading = "Time", .width = 11, .quantity = Quantity::time},
                 {.heading = "Intervals", .width = 11, .quantity = Quantity::count},
                 {.heading = "The GPU"}});
    const auto print = [&](const AccountRow& row, const std::string& words) {
      const Cell cells[]{percent_of(row, account), row.duration,
                         row.intervals > 0 ? Cell(row.intervals) : Cell(), words};
      table.row(cells);
    };
    AccountRow all, others;
    std::int64_t functions = 0;
    for (const AccountRow& row : gpu.rows) {
      all.duration += row.duration;
      if (row.what != "call" || percent_of(row, account) >= least_percent_of_a_call) {
        print(row, words_of(row));
        continue;
      }
      others.duration += row.duration;
      ++functions;
    }
    if (functions > 0) {
      print(others, "was idle, the host in " + count_of(functions, "other function"));
    }
    print(all, "in all");
  }
}

}  // namespace

std::string words_of(const AccountRow& row) {
  if (row.what == "compute") return "computed";
  if (row.what == "communication") return "communicated only";
  if (row.what == "copy") return "copied only, " + row.cause;
  if (row.what == "set") return "set memory only";
  if (row.what == "call") {
    return "was idle, the host in " + (row.cause.empty() ? "other calls" : row.cause);
  }
  if (row.what == "no call") return "was idle, the host in no call of CUDA";
  if (row.what == "unknown") return "was idle, the host's calls were not recorded";
  if (row.what == "short gap") return "was idle, in short gaps";
  return "was idle " + row.what + " its " + (row.what == "before" ? "first" : "last") + " work";
}

TimeAccount read_account(store::Database& database, const reading::Moment& from,
                         const reading::Moment& to, const std::function<void()>& check) {
  reading::Tables tables(database);
  return read_account(
      database,
      reading::find_window(tables, from, to,
                           [&] { return reading::zero_of_run(tables).value_or(0); }),
      check);
}

TimeAccount read_account(store::Database& database, const reading::Window& window,
                         const std::function<void()>& check) {
  store::Snapshot snapshot(database);
  const compute::Accounts accounts =
      compute::read_accounts(snapshot, window.from, window.to, check);
  TimeAccount account;
  if (accounts.devices.empty()) return account;
  reading::Tables tables(database);
  account.begin =
      saturating_subtract(accounts.window.first, reading::zero_of_run(tables).value_or(0));
  account.time = accounts.window.length();
  reading::Names names(database, reading::NameStyle::compatible);
  for (const auto& [id, parts] : accounts.devices) {
    GpuAccount& gpu = account.gpus.emplace_back(GpuAccount{.id = id, .name = names.device(id)});
    // A function may have several numbers: cuDeviceGetUuid and cuDeviceGetUuid_v2.
    std::map<std::pair<std::string, std::string>, AccountRow> by_name;
    for (const compute::AccountPart& part : parts) {
      AccountRow row = row_of(part, names);
      AccountRow& sum = by_name[{row.what, row.cause}];
      row.duration += sum.duration;
      row.intervals += sum.intervals;
      sum = std::move(row);
    }
    for (auto& [name, row] : by_name) gpu.rows.push_back(std::move(row));
    std::ranges::stable_sort(gpu.rows, std::greater{}, &AccountRow::duration);
  }
  return account;
}

void print_account(const TimeAccount& account, std::ostream& out, const ReportOptions& options) {
  Output output(out, options);
  output.keyed() ? print_keyed(account, output) : print_text(account, output);
  output.finish();
}

}  // namespace gpuprof::report
