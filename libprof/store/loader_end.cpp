// The end of a run: what is computed from its records, and the final form of the file.
#include <chrono>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/store/nvtx_payloads.hpp"
#include "libprof/store/nvtx_ranges.hpp"
#include "libprof/store/source_lines.hpp"

namespace gpuprof::store {
namespace {

constexpr schema::StatisticName not_demangled = "names_not_demangled";

// For names still with the demangler at the end; each may take half a second.
constexpr std::chrono::seconds readable_names_patience{10};

// Where a run's times start counting if nothing else is known.
constexpr char first_sample[] = "SELECT min(start) FROM main.PM_SAMPLE HAVING count(*) > 0";

}  // namespace

void Loader::store_readable_names() {
  if (!strings_ || !strings_->has_readable_names()) return;  // null: at the end
  begin();
  if (const std::size_t given_up = strings_->store_readable_names()) {
    counts_.add(0, not_demangled, given_up);
  }
}

void Loader::tell(std::string_view what) {
  doing_ = what;
  if (options_.progress) options_.progress(what);
}

bool Loader::unless_hurried(const std::function<void()>& work) {
  if (hurried()) return false;
  database_.watch([this] {
    tell(doing_);
    return hurried();
  });
  bool whole = true;
  try {
    work();
  } catch (const DatabaseError& error) {
    // A lock held by another process is not waited for either.
    if (error.kind() != DatabaseError::Kind::interrupted && !hurried()) throw;
    if (database_.in_transaction()) database_.execute("ROLLBACK");
    in_transaction_ = false;
    whole = false;
  }
  database_.watch({});
  return whole;
}

void Loader::pair_ranges() {
  tell("pairing NVTX ranges");
  begin();
  name_objects(database_, options_.object_names,
               [this](std::string_view text) { return strings_->id(text); });
  compute_source_lines(database_, [this](std::string_view text) { return strings_->id(text); });
  keep_cubins_once(database_);
  fill_source_level_tables(database_);
  strings_->finish();
  const std::uint64_t open_ranges = compute_nvtx_ranges(database_);
  compute_nvtx_payloads(database_);
  database_.execute("COMMIT");
  in_transaction_ = false;
  if (open_ranges > 0) counts_.add(0, left_out, open_ranges);
}

void Loader::wait_for_readable_names() {
  tell("waiting for readable names");
  std::size_t missing = 0;
  const auto until = std::chrono::steady_clock::now() + readable_names_patience;
  do {
    missing = strings_->wait_for_readable_names(std::chrono::milliseconds(100));
  } while (missing > 0 && !hurried() && std::chrono::steady_clock::now() < until);
  if (missing > 0) counts_.add(0, not_demangled, missing);
}

bool Loader::leave_log(std::chrono::milliseconds patience) {
  tell("folding in the log");
  // SQLite does not wait here for a reader to close the file, so we retry.
  database_.execute("PRAGMA busy_timeout = 0");
  const auto began = std::chrono::steady_clock::now();
  bool left = false;
  while (!left && !hurried()) {
    try {
      database_.execute("PRAGMA journal_mode = DELETE");
      left = true;
    } catch (const Error&) {
      if (std::chrono::steady_clock::now() - began >= patience) break;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  if (options_.when_locked) {
    database_.when_locked(options_.when_locked);
  } else {
    database_.execute("PRAGMA busy_timeout = 10000");
  }
  return left;
}

void Loader::derive() {
  if (!options_.derive) {
    if (options_.indexes) create_indexes(database_, schema::indexes);
    return;
  }
  const std::string problem = options_.derive(database_);
  if (problem.empty()) return;
  begin();
  diagnostics_.tell_of_run("", schema::Severity::notice, problem);
}

std::optional<std::int64_t> Loader::zero() {
  if (ring_ && ring_->let_go() > 0) {
    if (const auto first = ring_->first_time()) return first;
  }
  if (before_zero_ < INT64_MAX) return static_cast<std::int64_t>(before_zero_ + 1);
  return database_.integer(first_sample);
}

void Loader::count_samples() {
  const auto statistic = [&](std::string_view name) {
    Statement sum = database_.prepare("SELECT sum(value) FROM STATISTIC WHERE name = ?1");
    return sum.bind(1, name).step() ? sum.integer(0) : 0;
  };
  try {
    samples_ = {.samples = statistic("pm_samples"),
                .gaps = database_.integer("SELECT count(*) FROM PM_GAP").value_or(0),
                .pc_samples = statistic("pc_samples")};
  } catch (const DatabaseError& error) {
    if (!error.of_statement()) throw;  // a sum of forged values may overflow
  }
}

void Loader::finish() {
  commit();
  const bool paired = unless_hurried([this] { pair_ranges(); });
  wait_for_readable_names();
  commit();
  // Nothing of ours may hold the file while the log is folded in.
  tables_->close();
  metrics_.reset();
  code_values_.reset();
  strings_.reset();
  // What follows runs much faster on a single file. Another process may have it open.
  still_open_ = !leave_log(std::chrono::milliseconds(200));
  // What SQLite sorts from here on may not fit into memory. With this statement SQLite discards the
  // schema it has parsed, which takes a tenth of a short run.
  if (!is_small(database_)) database_.execute("PRAGMA temp_store = FILE");
  const bool whole = unless_hurried([this] { derive(); }) && paired;
  begin();
  if (const auto ns = zero()) run_.set("zero_ns", *ns);
  run_.set("loss", std::int64_t{!totals().lossless()});
  if (!whole) {
    const std::string ranges = paired ? "" : "NVTX ranges, ";
    run_.set("not_computed", ranges + "ranges of launches, times of devices, indexes");
  }
  run_.set("finished", std::int64_t{whole});
  commit();
  // If a reader still has the file open, everything is in the file and its log; SQLite folds the
  // log in when the last one closes it. Until then only tools older than SQLite 3.7 cannot read it.
  still_open_ = still_open_ && !leave_log(std::chrono::seconds(2));
  count_samples();  // before SQLite has to parse the schema of a rebuilt file
  if (!still_open_) use_small_pages(database_);
}

}  // namespace gpuprof::store
