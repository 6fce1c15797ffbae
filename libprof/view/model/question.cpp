#include "libprof/view/model/question.hpp"

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::view {

namespace questions {
#define GPUPROF_QUESTION(name) std::string name(const Asked& asked);
#include "libprof/view/all_questions.inc"
#undef GPUPROF_QUESTION
}  // namespace questions

std::optional<std::int64_t> Asked::number(std::string_view word) const {
  const auto text = words.find(word);
  if (text == words.end()) return std::nullopt;
  return parse<std::int64_t>(text->second);
}

std::optional<std::int64_t> Asked::time(std::string_view word) const {
  const auto given = number(word);
  return given ? std::optional(saturating_add(*given, model.zero)) : std::nullopt;
}

Question find_question(std::string_view name) {
  static const std::map<std::string_view, Question> all{
#define GPUPROF_QUESTION(name) {#name, &questions::name},
#include "libprof/view/all_questions.inc"
#undef GPUPROF_QUESTION
  };
  const auto found = all.find(name);
  return found == all.end() ? nullptr : found->second;
}

}  // namespace gpuprof::view
