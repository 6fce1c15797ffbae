#include "libprof/compute/step_names.hpp"

#include <cstdint>

#include "libprof/base/error.hpp"
#include "schema/step_names.hpp"

namespace gpuprof::compute {
namespace {

// After this many names on which it gave up, a file's expression is no longer used.
constexpr std::uint64_t most_given_up = 100;

}  // namespace

StepNames::StepNames(store::Database& database) {
  const auto given = database.text("SELECT value FROM main.RUN WHERE key = 'step'");
  if (!given) return;
  try {
    pattern_ = std::make_unique<Pattern>(*given);
  } catch (const Error&) {
    // Not from our launcher: such a run would not have started.
  }
}

bool StepNames::has(const std::string& name) const {
  if (!pattern_) return schema::names_a_step(name);
  return pattern_->gave_up() < most_given_up && pattern_->found_in(name);
}

}  // namespace gpuprof::compute
