#include "libprof/report/account.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

#include "libprof/base/printable.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
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
  } else if (part.what == "queued" && part.cause != 0) {
    row.cause = "cudaStreamWaitEvent";
  } else if (part.what == "no call") {
    row.cause = printable(part.place);
  } else if (part.is_of_function()) {
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

// Rows of one GPU, as text. What is left out is summed up in a last row.
class GpuText {
 public:
  GpuText(const TimeAccount& account, Output& output)
      : account_(account),
        table_(output, "account",
               {{.heading = "Share", .width = 9, .quantity = Quantity::percent},
                {.heading = "Time", .width = 11, .quantity = Quantity::time},
                {.heading = "Intervals", .width = 11, .quantity = Quantity::count},
                {.heading = "The GPU"}}) {}

  void print(const AccountRow& row) { print(row, words_of(row)); }
  void leave_out(const AccountRow& row) {
    LeftOut& others = row.what == "no call" ? lines_ : functions_;
    others.sum.duration += row.duration;
    ++others.count;
  }
  void print_others() {
    print(functions_, "was idle, the host in ", "other function");
    print(lines_, "was idle, the host in no call of CUDA: ", "other line");
  }
  void print_sum() { print(all_, "in all"); }

 private:
  struct LeftOut {
    AccountRow sum;
    std::int64_t count = 0;
  };

  void print(const LeftOut& others, std::string_view did, std::string_view what) {
    if (others.count > 0) print(others.sum, std::string(did) + count_of(others.count, what));
  }
  void print(const AccountRow& row, const std::string& words) {
    const Cell cells[]{percent_of(row, account_), row.duration,
                       row.intervals > 0 ? Cell(row.intervals) : Cell(), words};
    table_.row(cells);
    all_.duration += row.duration;
  }

  const TimeAccount& account_;
  Table table_;
  AccountRow all_;
  LeftOut functions_, lines_;
};

// Text sums up the functions and lines in which the host was for less than this.
constexpr double least_percent_of_a_function = 0.1;

bool is_of_function_or_line(const AccountRow& row) {
  return row.what == "call" ||
         ((row.what == "launch" || row.what == "no call") && !row.cause.empty());
}

void print_text(const TimeAccount& account, Output& output) {
  if (account.gpus.empty()) {
    output.line("No GPU work has times there: there is nothing to account for.");
    return;
  }
  for (const GpuAccount& gpu : account.gpus) {
    if (&gpu != account.gpus.data()) output.line();
    output.line(gpu.name + ", " + format_time(static_cast<std::uint64_t>(account.time)) + " from " +
                format_moment(account.begin) + " on:");
    GpuText text(account, output);
    for (const AccountRow& row : gpu.rows) {
      const bool is_short =
          is_of_function_or_line(row) && percent_of(row, account) < least_percent_of_a_function;
      is_short ? text.leave_out(row) : text.print(row);
    }
    text.print_others();
    text.print_sum();
  }
}

// A function may have several numbers: cuDeviceGetUuid and cuDeviceGetUuid_v2.
std::vector<AccountRow> rows_of(std::span<const compute::AccountPart> parts,
                                reading::Names& names) {
  std::map<std::pair<std::string, std::string>, AccountRow> by_name;
  for (const compute::AccountPart& part : parts) {
    AccountRow row = row_of(part, names);
    AccountRow& sum = by_name[{row.what, row.cause}];
    row.duration = saturating_add(row.duration, sum.duration);
    row.intervals = saturating_add(row.intervals, sum.intervals);
    sum = std::move(row);
  }
  std::vector<AccountRow> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater{}, &AccountRow::duration);
  return rows;
}

}  // namespace

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
  return std::move(read_accounts(database, {&window, 1}, check).front());
}

std::vector<TimeAccount> read_accounts(store::Database& database,
                                       std::span<const reading::Window> windows,
                                       const std::function<void()>& check) {
  std::vector<compute::TimeBounds> bounds;
  for (const reading::Window& window : windows) bounds.push_back({window.from, window.to});
  store::Snapshot snapshot(database);
  std::vector<TimeAccount> all;
  for (const compute::Accounts& found : compute::read_accounts(snapshot, bounds, check)) {
    all.push_back(account_of(database, found));
  }
  return all;
}

TimeAccount account_of(store::Database& database, const compute::Accounts& accounts) {
  TimeAccount account;
  if (accounts.devices.empty()) return account;
  reading::Tables tables(database);
  account.begin =
      saturating_subtract(accounts.window.first, reading::zero_of_run(tables).value_or(0));
  account.time = accounts.window.length();
  reading::Names names(database, reading::NameStyle::compatible);
  for (const auto& [id, parts] : accounts.devices) {
    account.gpus.push_back({.id = id, .name = names.device(id), .rows = rows_of(parts, names)});
  }
  return account;
}

std::optional<TimeAccount> stored_account(store::Database& database) {
  reading::Tables tables(database);
  for (const char* column : {"deviceId", "class", "domain", "cause", "duration", "intervals"}) {
    if (!tables.has("DEVICE_ACCOUNT", column)) return std::nullopt;
  }
  std::map<std::int64_t, std::vector<compute::AccountPart>> devices;
  auto rows = database.prepare(
      "SELECT deviceId, class, domain, cause, duration, intervals FROM main.DEVICE_ACCOUNT");
  while (rows.step()) {
    const auto part = compute::AccountPart::read(rows, 1);
    if (!part) return std::nullopt;
    devices[rows.integer(0)].push_back(*part);
  }
  TimeAccount account;
  reading::Names names(database, reading::NameStyle::compatible);
  for (const auto& [id, parts] : devices) {
    std::int64_t time = 0;
    for (const auto& part : parts) time = saturating_add(time, part.duration);
    if (account.gpus.empty()) account.time = time;
    if (time != account.time) return std::nullopt;
    account.gpus.push_back({.id = id, .name = names.device(id), .rows = rows_of(parts, names)});
  }
  if (account.time == 0) return std::nullopt;
  return account;
}

void print_account(const TimeAccount& account, std::ostream& out, const ReportOptions& options) {
  Output output(out, options);
  output.keyed() ? print_keyed(account, output) : print_text(account, output);
  output.finish();
}

}  // namespace gpuprof::report
