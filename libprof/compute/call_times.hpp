// Durations of API calls, with sums and spread, per function: table API_TIME.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/duration_sum.hpp"
#include "libprof/compute/durations.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: see Durations.
class CallTimes {
 public:
  enum Domain : std::size_t { runtime, driver, internal };
  struct Source {
    Domain domain;
    std::string_view table;
  };
  static constexpr std::array<Source, 3> sources{
      Source{runtime, "CUPTI_ACTIVITY_KIND_RUNTIME"}, Source{driver, "CUPTI_ACTIVITY_KIND_DRIVER"},
      Source{internal, "CUPTI_ACTIVITY_KIND_INTERNAL_LAUNCH_API"}};

  // Reads the function names.
  explicit CallTimes(store::Database& database);

  // Adds calls of a domain from their columns cbid, start, end and returnValue.
  void add(Domain domain, const columns::Column& cbid, const columns::Column& start,
           const columns::Column& end, const columns::Column& result);
  // The function's name without suffixes; null: unknown.
  const std::string* name_of(Domain domain, std::int64_t cbid) const;
  // Fills the table, inside the caller's transaction. Nothing may be added afterwards.
  void write(store::Database& database);

 private:
  struct Sum {
    std::int64_t count = 0, failed = 0;
    DurationSum durations;
  };

  std::size_t group_of(Domain domain, std::int64_t cbid);

  std::array<std::unordered_map<std::int64_t, std::string>, 3> names_;  // by cbid
  std::array<std::unordered_map<std::int64_t, std::size_t>, 3> by_cbid_;
  std::map<std::pair<std::string, std::string>, std::size_t> groups_;  // by domain and function
  std::vector<Sum> sums_;                                              // by group
  bool complete_ = true;                                               // no group is missing
  Durations durations_;
};

}  // namespace gpuprof::compute
