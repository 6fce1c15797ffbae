// What is counted while a run is loaded: by process and table into STATISTIC, and its totals.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "libprof/store/sqlite.hpp"
#include "libprof/store/statistic_writer.hpp"
#include "schema/statistics.hpp"

namespace gpuprof::store {

// What whoever reads a stream counts of it.
inline constexpr schema::StatisticName malformed_frames = "frames_malformed";
inline constexpr schema::StatisticName left_out = "stream_limited";
inline constexpr schema::StatisticName records_received = "records_received";
inline constexpr schema::StatisticName records_without_times = "records_without_times";
inline constexpr schema::StatisticName not_profiled = "not_profiled";

struct LoadTotals {
  std::uint64_t records = 0;
  std::uint64_t missing = 0;        // known to have been lost; blocks count as one
  std::uint64_t without_times = 0;  // there, but not to be summed up
  std::size_t processes = 0;
  std::size_t not_profiled = 0;  // of these, those where collecting failed
  std::size_t uncounted = 0;     // and those that lost what nobody could count

  LoadTotals& operator+=(const LoadTotals& other);
  bool lossless() const {
    return missing == 0 && without_times == 0 && not_profiled == 0 && uncounted == 0;
  }
};

// A part of the loader, on its thread. Process 0 stands for the launcher; `kind` is a table, or
// empty.
class Counts {
 public:
  // Values that a stream has told, by kind and name.
  using Told = std::map<std::pair<std::string, std::string>, std::int64_t>;

  // The database outlives this.
  explicit Counts(Database& database) : writer_(database) {}

  void add_process() { ++totals_.processes; }
  // So many more.
  void add(std::int64_t process_id, schema::StatisticName statistic, std::uint64_t more = 1,
           std::string_view kind = {});
  // The same for a statistic that may be unknown to us.
  void add(std::int64_t process_id, std::string_view kind, std::string_view name,
           std::uint64_t more);
  // The stream says that there are so many by now. Names beyond its limit are left out.
  void set(Told& told, std::int64_t process_id, std::string_view kind, std::string_view name,
           std::uint64_t value);
  // The launcher says so.
  void set_own(schema::StatisticName statistic, std::uint64_t value);

  // Inside the caller's transaction.
  void write() { writer_.write(); }

  const LoadTotals& totals() const { return totals_; }

 private:
  void change(std::int64_t process_id, std::string_view kind, std::string_view name,
              std::int64_t difference);

  StatisticWriter writer_;
  LoadTotals totals_;
  std::map<std::string, std::int64_t, std::less<>> own_;  // what the launcher said last
};

}  // namespace gpuprof::store
