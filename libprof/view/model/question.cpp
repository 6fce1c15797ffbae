#include "libprof/view/model/question.hpp"

namespace gpuprof::view {

namespace questions {
#define GPUPROF_QUESTION(name) std::string name(const Asked& asked);
#include "libprof/view/all_questions.inc"
#undef GPUPROF_QUESTION
}  // namespace questions

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
