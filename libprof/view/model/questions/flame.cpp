#include <nlohmann/json.hpp>

#include "libprof/base/json_text.hpp"
#include "libprof/view/model/flame_answer.hpp"
#include "libprof/view/model/question.hpp"

namespace gpuprof::view::questions {

// Kernels between `from` and `to`, or of the run, by what led to their launches: `by` ranges or
// stacks; if it is absent, as the file can.
std::string flame(const Asked& asked) {
  constexpr std::size_t most_rows = 5000;
  compute::PathBy by = usual_paths(asked.database);
  if (const auto given = asked.words.find("by"); given != asked.words.end()) {
    by = given->second == "stacks" ? compute::PathBy::stacks : compute::PathBy::ranges;
  }
  store::Snapshot snapshot(asked.database);
  const Window whole = window_of(asked.model);
  const Window window{asked.time("from").value_or(whole.from), asked.time("to").value_or(whole.to)};
  return json_text(flame_answer(snapshot, by, window, most_rows, asked.check));
}

}  // namespace gpuprof::view::questions
