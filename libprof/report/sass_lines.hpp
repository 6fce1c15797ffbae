// SASS metrics by function and source line, as nvprof's four tables have them: of files of nvprof's
// too, which never printed them.
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
  std::int64_t executed = 0;  // times that a warp executed it
  // Threads; warps whose threads went different ways; sectors; wavefronts.
  std::int64_t counted = 0;
  // Of instructions: threads whose predicate was true. Of accesses: `counted` at best, 0 where that
  // is not known.
  std::int64_t beside = 0;

  void add(const SassCounts& more);
  // What an access took beyond the best.
  std::int64_t excess() const { return beside > 0 && counted > beside ? counted - beside : 0; }
};

struct SassPlace {
  std::array<SassCounts, sass_sections> sections;

  const SassCounts& of(SassSection section) const {
    return sections[static_cast<std::size_t>(section)];
  }
  // What makes a place stand first in a section; 0: nothing is wrong there.
  std::int64_t weight(SassSection section) const;
};

struct SassFunction {
  std::int64_t name = 0;  // string id
  SassPlace all;
  std::map<SourcePlace, SassPlace> places;

  // Places that have the section, those that weigh most first.
  std::vector<const std::pair<const SourcePlace, SassPlace>*> order(SassSection section) const;
};

// All of a profile, in memory: it grows with the lines and addresses that were counted.
class SassLines {
 public:
  explicit SassLines(Session& session);

  // Those whose warps executed most instructions first.
  const std::vector<SassFunction>& functions() const { return functions_; }
  // Instructions that warps executed.
  std::int64_t executed() const { return executed_; }

 private:
  std::vector<SassFunction> functions_;
  std::int64_t executed_ = 0;
};

// Whether the profile has any.
bool has_sass_metrics(Session& session);

}  // namespace gpuprof::report
