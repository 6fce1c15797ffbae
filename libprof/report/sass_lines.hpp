// SASS metrics by function and source line, from nvprof's four tables. nvprof's own files have them
// too, although nvprof never printed them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "libprof/report/code_places.hpp"
#include "libprof/report/session.hpp"

namespace gpuprof::report {

enum class SassSection : std::uint8_t { instructions, branches, global_accesses, shared_accesses };
inline constexpr std::size_t sass_sections = 4;

struct SassCounts {
  bool there = false;
  std::int64_t executed = 0;  // how often warps executed it
  // Threads, diverged warps, sectors or wavefronts, depending on the section.
  std::int64_t counted = 0;
  // Instructions: threads whose predicate was true. Accesses: the minimum for `counted`, 0 if
  // unknown.
  std::int64_t beside = 0;

  void add(const SassCounts& more);
  // What an access needed beyond the minimum.
  std::int64_t excess() const { return beside > 0 && counted > beside ? counted - beside : 0; }
};

struct SassPlace {
  std::array<SassCounts, sass_sections> sections;

  const SassCounts& of(SassSection section) const {
    return sections[static_cast<std::size_t>(section)];
  }
  // Places with a larger weight come first in a section; 0: nothing is wrong there.
  std::int64_t weight(SassSection section) const;
};

struct SassFunction {
  std::int64_t name = 0;  // string id
  SassPlace all;
  std::map<SourcePlace, SassPlace> places;

  // Places of the section, largest weight first.
  std::vector<const std::pair<const SourcePlace, SassPlace>*> order(SassSection section) const;
};

// All counts of a profile in memory, which grows with the number of counted lines and addresses.
class SassLines {
 public:
  explicit SassLines(Session& session);

  // Most executed warp instructions first.
  const std::vector<SassFunction>& functions() const { return functions_; }
  // The number of executed warp instructions.
  std::int64_t executed() const { return executed_; }

 private:
  std::vector<SassFunction> functions_;
  std::int64_t executed_ = 0;
};

// Whether the profile has SASS metrics.
bool has_sass_metrics(Session& session);

}  // namespace gpuprof::report
