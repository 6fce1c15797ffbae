// gpuprof view-question: the process that gpuprof view starts for each SQL query.
#include <iostream>
#include <iterator>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/view/server/question_process.hpp"

namespace gpuprof::app {
namespace {

struct ViewQuestionArguments {
  std::string file, copy;
  std::int64_t zero = 0;
};

// Errors are part of the answer, since nobody reads standard error.
int answer(ViewQuestionArguments& arguments) {
  const std::string sql(std::istreambuf_iterator<char>(std::cin), {});
  try {
    std::cout << view::answer_in_process({.path = arguments.file, .copy = arguments.copy},
                                         arguments.zero, sql)
              << std::flush;
    return 0;
  } catch (const Error& error) {
    std::cout << error.what() << std::flush;
    return static_cast<int>(error.exit_code());
  }
}

void declare_view_question(Grammar& grammar, ViewQuestionArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile");
  grammar.take("--copy", &arguments.copy, "Read this copy of what is left of it", "FILE");
  grammar.take("--zero", number_to(arguments.zero, INT64_MIN), "What times count from", "NS");
}

}  // namespace

extern const Subcommand view_question_command{
    .name = "view-question",
    .usage = "FILE",
    .declare = command<ViewQuestionArguments, declare_view_question, answer>};

}  // namespace gpuprof::app
