// What everybody needs who reads a profile: its tables with what they lack, the records that a
// filter leaves, and names.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/letter_case.hpp"
#include "libprof/columns/request.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/read/window.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

// Which records are looked at; empty: all of them.
struct Filter {
  std::string kernels = {};                // regular expression, searched in readable kernel names
  std::vector<std::int64_t> devices = {};  // of GPU work
  Moment from = {};                        // records that begin then or later
  Moment to = {};                          // … and before this
  bool check = false;                      // refuse devices that are not there
};

// SQL: which rows of a kind have times that can be. GPU work has to take time, and a call may be
// over at once.
std::string valid_times(std::string_view kind);

// A profile that is being read. Belongs to one thread, as the database does, which must outlive it.
// While it lives it holds a read transaction, so that all of it is read in one state, also of a
// file that is being written. `kind` is a table's name without "CUPTI_ACTIVITY_KIND_".
class Profile {
 public:
  // `progress` is told what takes long. Throws gpuprof::Error where the filter names an NVTX range
  // that is not there.
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

  // SELECT of the columns, in their order, from the kind's table; `rest` is what follows the FROM
  // clause (WHERE, GROUP BY, ORDER BY). A column that an old file lacks reads 0, a table that is
  // missing is an empty one. Expressions are written with names in brackets: "[end] - start".
  store::Statement select(std::string_view kind, std::initializer_list<std::string_view> columns,
                          const std::string& rest = {});

  // What the filter is for rows of the kind. A part of it applies to a table that has its column:
  // deviceId; name of kernels; when rows begin. Nothing: no row fits.
  std::optional<columns::Filter> wanted_rows(std::string_view kind);
  // The same for a WHERE clause: "1" or "deviceId IN (0, 1) AND …".
  std::string filter(std::string_view kind);
  // "WHERE …": rows that have valid times and pass the filter.
  std::string timed(std::string_view kind);
  // Only this device's rows besides; nothing: of all devices.
  std::optional<std::int64_t> device;
  // No rows of this kind; empty: of all kinds.
  std::string_view left_out;

  // gpuprof made the file: it has a table of the run.
  bool is_ours() { return tables_.has("RUN", "key"); }
  bool no_kernel_has_the_name() { return !filter_.kernels.empty() && kernel_ids().empty(); }
  // Kernel names in which --kernels took too long to search.
  std::uint64_t names_given_up() const { return names_given_up_; }
  // What moments count from, ns; 0 where nothing has a time.
  std::int64_t zero();

 private:
  const std::vector<std::int64_t>& kernel_ids();

  store::Database& database_;
  store::Snapshot snapshot_;
  Tables tables_;
  const Filter filter_;
  const std::function<void(std::string_view)> progress_;
  Names names_;
  std::map<std::string, bool, NameLess> has_rows_;  // of those asked for
  std::optional<std::int64_t> zero_;
  Window window_;
  std::optional<std::vector<std::int64_t>> kernel_ids_;  // of Filter::kernels
  std::uint64_t names_given_up_ = 0;
};

}  // namespace gpuprof::reading
