// gpuprof view-question: the process that gpuprof view starts for each SQL query.
#include <iostream>
#include <iterator>
#include <memory>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/error.hpp"
#include "libprof/view/server/question_process.hpp"

namespace gpuprof::app {
namespace {

struct ViewQuestionArguments {
  std::string file, copy, zero;
};

// Errors are part of the answer, since nobody reads standard error.
int answer(const ViewQuestionArguments& arguments) {
  const std::string sql(std::istreambuf_iterator<char>(std::cin), {});
  try {
    std::cout << view::answer_in_process({.path = arguments.file, .copy = arguments.copy},
                                         parse<std::int64_t>(arguments.zero).value_or(0), sql)
              << std::flush;
    return 0;
  } catch (const Error& error) {
    std::cout << error.what() << std::flush;
    return static_cast<int>(error.exit_code());
  }
}

std::function<int()> declare_view_question(Grammar& grammar) {
  auto arguments = std::make_shared<ViewQuestionArguments>();
  grammar.take({.name = "file",
                .to = &arguments->file,
                .help = "A profile",
                .placeholder = "FILE",
                .required = true});
  grammar.take({.name = "--copy",
                .to = &arguments->copy,
                .help = "Read this copy of what is left of it",
                .placeholder = "FILE"});
  grammar.take({.name = "--zero",
                .to = &arguments->zero,
                .help = "What times count from",
                .placeholder = "NS"});
  return [arguments] { return answer(*arguments); };
}

}  // namespace

extern const Subcommand view_question_command{
    .name = "view-question", .usage = "FILE", .help = "", .declare = declare_view_question};

}  // namespace gpuprof::app
