// PC samples by function and source line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/pattern.hpp"
#include "libprof/report/session.hpp"

namespace gpuprof::report {

// Rows of a list in text: --top, or 10.
std::size_t most_rows(const Session& session);
// "… and 7 more functions: --top N".
void say_of_the_rest(Output& output, std::size_t count, std::string_view what);

// The functions that samples are of, by the names of table FUNCTION.
class SampledFunctions {
 public:
  explicit SampledFunctions(Session& session);

  // String id; 0: not known.
  std::int64_t name(std::int64_t process, std::int64_t function) const;
  // Whether --kernels chose it.
  bool wanted(std::int64_t name);

 private:
  Session& session_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> names_;  // by process and id
  std::optional<Pattern> pattern_;                                       // nothing: all are wanted
  std::map<std::int64_t, bool> wanted_;
};

struct SampleCounts {
  std::int64_t samples = 0;
  std::int64_t not_issued = 0;  // of them: the scheduler issued nothing in that cycle

  void add(std::int64_t more, std::int64_t more_not_issued);
};

struct SampledPlace {
  SampleCounts all;
  std::map<std::int64_t, SampleCounts> reasons;  // by number, see SampledLines::reason()

  void add(std::int64_t reason, std::int64_t samples, std::int64_t not_issued);
  // Numbers, those with the most samples first.
  std::vector<std::int64_t> order() const;
};

// A line where one is known, else an address.
struct SourcePlace {
  std::int64_t file = 0;  // string id; 0: there is no line
  std::int64_t line = 0;
  std::int64_t pc = 0;  // [bytes] from the function's beginning; 0 where there is a line

  auto operator<=>(const SourcePlace&) const = default;
};

struct SampledFunction {
  std::int64_t device = 0;
  std::int64_t name = 0;  // string id
  SampledPlace all;
  std::map<SourcePlace, SampledPlace> places;

  // Those with the most samples first.
  std::vector<const std::pair<const SourcePlace, SampledPlace>*> order() const;
};

// All of a profile, in memory: it grows with the lines and addresses that have samples.
class SampledLines {
 public:
  explicit SampledLines(Session& session);

  // Those with the most samples first.
  const std::vector<SampledFunction>& functions() const { return functions_; }
  std::int64_t samples() const { return samples_; }
  // "long_scoreboard".
  std::string reason(std::int64_t number) const;

 private:
  void read_reasons(Session& session);

  std::map<std::int64_t, std::string> reasons_;
  std::vector<SampledFunction> functions_;
  std::int64_t samples_ = 0;
};

}  // namespace gpuprof::report
