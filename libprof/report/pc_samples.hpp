// PC samples by function and source line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libprof/report/code_places.hpp"
#include "libprof/report/session.hpp"

namespace gpuprof::report {

struct SampleCounts {
  std::int64_t samples = 0;
  std::int64_t not_issued = 0;  // of these: the scheduler issued nothing in that cycle

  void add(std::int64_t more, std::int64_t more_not_issued);
};

// Stall reasons by the number in the samples: PC_STALL_REASON.id or, in files without it, nvprof's.
class StallReasons {
 public:
  // `ours`: the samples have a stallReasonId.
  StallReasons(store::Database& database, bool ours);

  std::string name(std::int64_t number) const;  // "long_scoreboard"

 private:
  std::map<std::int64_t, std::string> names_;
};

struct SampledPlace {
  SampleCounts all;
  std::map<std::int64_t, SampleCounts> reasons;  // by number, see StallReasons

  void add(std::int64_t reason, std::int64_t samples, std::int64_t not_issued);
  // Reason numbers, most samples first.
  std::vector<std::int64_t> order() const;
};

struct SampledFunction {
  std::int64_t device = 0;
  std::int64_t name = 0;  // string id
  SampledPlace all;
  std::map<SourcePlace, SampledPlace> places;

  // Places, most samples first.
  std::vector<const std::pair<const SourcePlace, SampledPlace>*> order() const;
};

// All samples of a profile in memory, which grows with the number of sampled lines and addresses.
class SampledLines {
 public:
  explicit SampledLines(Session& session);

  // Most samples first.
  const std::vector<SampledFunction>& functions() const { return functions_; }
  std::int64_t samples() const { return samples_; }
  std::string reason(std::int64_t number) const { return reasons_.name(number); }

 private:
  StallReasons reasons_;
  std::vector<SampledFunction> functions_;
  std::int64_t samples_ = 0;
};

}  // namespace gpuprof::report
