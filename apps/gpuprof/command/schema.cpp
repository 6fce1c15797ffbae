#include <iostream>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "schema/document.hpp"

namespace gpuprof::app {
namespace {

std::function<int()> declare(Grammar&) {
  return [] { return print_to_standard_output([] { std::cout << schema::schema_markdown(); }); };
}

}  // namespace

extern const Subcommand schema_command{
    .name = "schema",
    .usage = "",
    .help = "Print the tables and views as Markdown",
    .declare = declare,
};

}  // namespace gpuprof::app
