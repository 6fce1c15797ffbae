// Where the time of each GPU went. For gpuprof account, the summary and the viewer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "libprof/compute/account.hpp"
#include "libprof/read/window.hpp"
#include "libprof/report/options.hpp"
#include "libprof/report/output.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// A row of an account, as the view account has it.
struct AccountRow {
  std::string what = {}, cause = {};
  std::int64_t duration = 0;  // ns
  std::int64_t intervals = 0;
};

// The GPU was at work.
bool is_work(const AccountRow& row);

struct GpuAccount {
  std::int64_t id = 0;
  std::string name;
  std::vector<AccountRow> rows = {};  // longest first; they add up to the time
};

struct TimeAccount {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;   // ns
  std::vector<GpuAccount> gpus;
};

// By default for the run, from its first call or GPU work to the end of its last. `check` is called
// now and then and may throw.
TimeAccount read_account(store::Database& database, const reading::Moment& from,
                         const reading::Moment& to, const std::function<void()>& check);
// The same for a window on the clock of the records.
TimeAccount read_account(store::Database& database, const reading::Window& window,
                         const std::function<void()>& check);
// One for each of several windows, which are in order and do not overlap. The file is read once.
std::vector<TimeAccount> read_accounts(store::Database& database,
                                       std::span<const reading::Window> windows,
                                       const std::function<void()>& check);
// With the names of the file.
TimeAccount account_of(store::Database& database, const compute::Accounts& accounts);

// That of the run as it was stored when the run ended, without `begin`; nullopt: the file has none,
// or a wrong one.
std::optional<TimeAccount> stored_account(store::Database& database);

// One sentence: "NVIDIA H200 (0) is idle for most of the time: of the 3.75s from its first work to
// its last it computed in 12.5 %, copied in 7.3 % and was idle in 80.2 %, for the most part with
// the host in no call of CUDA (75.1 %)." Empty: it had no work.
std::string verdict_of(const GpuAccount& gpu);
// About the GPU that computed least.
std::string verdict_of(const TimeAccount& account);

// "12.5 %", "less than 0.1 %".
std::string share_words(std::int64_t part, std::int64_t whole);
// What the GPU did, as what follows its name: "was idle, the host in cudaFree".
std::string words_of(const AccountRow& row);

void print_account(const TimeAccount& account, std::ostream& out, const ReportOptions& options);

}  // namespace gpuprof::report
