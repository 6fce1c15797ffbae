// What every reader of a profile needs: its tables with defaults for what they lack, the records
// selected by a filter, and names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/letter_case.hpp"
#include "libprof/read/columns/request.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/read/window.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

// Which records to consider; empty: all of them.
struct Filter {
  std::string kernels = {};                // regular expression, searched for in readable names
  std::vector<std::int64_t> devices = {};  // of GPU work
  Moment from = {};                        // records that begin then or later
  Moment to = {};                          // … and before this
  std::optional<Window> window = {};       // instead of both, on the clock of the records
  bool check = false;                      // reject devices that do not exist
};

// SQL condition: the rows of a kind that have plausible times. GPU work must have a duration; a
// call may take no time.
std::string valid_times(std::string_view kind);

// A profile being read. Belongs to one thread, like the database, which must outlive it. It holds a
// read transaction while it lives, so that everything is read in one state, even if the file is
// being written. `kind` is a table's name without "CUPTI_ACTIVITY_KIND_".
class Profile {
 public:
  // `progress` receives what takes long. Throws gpuprof::Error if the filter names an NVTX range
  // that does not exist.
  Profile(store::Database& database, Filter filter, NameStyle names,
          std::function<void(std::string_view)> progress);
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  store::Database& database() { return database_; }
  store::Snapshot& snapshot() { return snapshot_; }
  Names& names() { return names_; }

  void progress(std::string_view what) { progress_(what); }

  bool has(std::string_view kind) { return tables_.has(table_name(kind)); }
  bool has_rows(std::string_view kind);
  bool has_column(std::string_view kind, std::string_view column) {
    return tables_.has(table_name(kind), column);
  }

  // Selects the columns, in this order, from the kind's table; `rest` is what follows the FROM
  // clause (WHERE, GROUP BY, ORDER BY). A column that an old file lacks, and an empty one, reads as
  // 0, a missing table as empty. Expressions put names in brackets: "[end] - start".
  store::Statement select(std::string_view kind, const std::vector<std::string_view>& columns,
                          const std::string& rest = {});

  // The filter for rows of the kind. Each part of it applies only to tables with its column:
  // deviceId; name of kernels; when rows begin. Nullopt: no row matches.
  std::optional<columns::Filter> wanted_rows(std::string_view kind);
  // The same as a WHERE condition: "1" or "deviceId IN (0, 1) AND …".
  std::string filter(std::string_view kind);
  // "WHERE …": rows that have valid times and pass the filter.
  std::string timed(std::string_view kind);
  // Also restricts rows to this device; nullopt: all devices.
  std::optional<std::int64_t> device;
  // Excludes rows of this kind; empty: none.
  std::string_view left_out;

  // Whether gpuprof created the file: it has a RUN table.
  bool is_ours() { return tables_.has("RUN", "key"); }
  bool no_kernel_has_the_name() { return !filter_.kernels.empty() && kernel_ids().empty(); }
  // Kernel names that took too long to match against --kernels.
  std::uint64_t names_given_up() const { return names_given_up_; }
  // The run's time zero, ns; 0 if nothing has a time.
  std::int64_t zero();
  // Of the filter.
  const Window& window() const { return window_; }

 private:
  const std::vector<std::int64_t>& kernel_ids();

  store::Database& database_;
  store::Snapshot snapshot_;
  Tables tables_;
  const Filter filter_;
  const std::function<void(std::string_view)> progress_;
  Names names_;
  std::map<std::string, bool, NameLess> has_rows_;  // of tables asked for
  std::optional<std::int64_t> zero_;
  Window window_;
  std::optional<std::vector<std::int64_t>> kernel_ids_;  // those matching Filter::kernels
  std::uint64_t names_given_up_ = 0;
};

}  // namespace gpuprof::reading
