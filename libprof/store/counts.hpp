// Counters kept while a run is loaded: per process and table for STATISTIC, plus totals. Changes
// since the last commit are held until the next one, so neither memory nor the cost of a commit
// grows with the number of processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "libprof/store/sqlite.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::store {

// Counted by the readers of a stream.
inline constexpr schema::StatisticName malformed_frames = "frames_malformed";
inline constexpr schema::StatisticName left_out = "stream_limited";
inline constexpr schema::StatisticName records_received = "records_received";
inline constexpr schema::StatisticName records_without_times = "records_without_times";
inline constexpr schema::StatisticName not_profiled = "not_profiled";

struct LoadTotals {
  std::uint64_t records = 0;
  std::uint64_t missing = 0;        // known to be lost; a lost block counts as one
  std::uint64_t without_times = 0;  // present, but cannot be summed
  std::size_t processes = 0;
  std::size_t not_profiled = 0;  // processes in which collecting failed
  std::size_t uncounted = 0;     // processes that lost something nobody could count
  std::size_t budget_cuts = 0;   // kinds of rows no longer recorded, in each process
  std::uint64_t let_go = 0;      // rows that --keep-last has deleted

  LoadTotals& operator+=(const LoadTotals& other);
  bool lossless() const {
    return missing == 0 && without_times == 0 && not_profiled == 0 && uncounted == 0 &&
           budget_cuts == 0;
  }
};

// Part of the loader, on its thread. Process 0 is the launcher; `kind` is a table or empty.
// Processes that had the same id one after the other share their rows: values add up.
class Counts {
 public:
  // Values reported by a stream, by kind and name.
  using Told = std::map<std::pair<std::string, std::string>, std::int64_t>;

  // The database must outlive this object.
  explicit Counts(Database& database) : database_(database) {}

  void add_process() { ++totals_.processes; }
  // Adds `more` to the statistic.
  void add(std::int64_t process_id, schema::StatisticName statistic, std::uint64_t more = 1,
           std::string_view kind = {});
  // The same for a statistic that this build may not know.
  void add(std::int64_t process_id, std::string_view kind, std::string_view name,
           std::uint64_t more);
  // Sets the total that the stream has reported so far. Names beyond the stream's limit are
  // dropped.
  void set(Told& told, std::int64_t process_id, std::string_view kind, std::string_view name,
           std::uint64_t value);
  // Sets a total counted by the launcher.
  void set_own(schema::StatisticName statistic, std::uint64_t value);

  // Call inside a transaction. Holds no statement afterwards.
  void write();

  void set_let_go(std::uint64_t rows) { totals_.let_go = rows; }

  const LoadTotals& totals() const { return totals_; }

 private:
  void change(std::int64_t process_id, std::string_view kind, std::string_view name,
              std::int64_t difference);

  using Key = std::tuple<std::int64_t, std::string, std::string>;
  Database& database_;
  std::map<Key, std::int64_t, std::less<>> changes_;
  LoadTotals totals_;
  std::map<std::string, std::int64_t, std::less<>> own_;  // last values from the launcher
};

}  // namespace gpuprof::store
