#include <iostream>

#include "apps/gpuprof/commands.hpp"
#include "schema/document.hpp"

namespace gpuprof::app {
namespace {

std::function<int()> declare(CLI::App&) {
  return [] {
    std::cout << schema::schema_markdown();
    return 0;
  };
}

}  // namespace

extern const Subcommand schema_command{
    .name = "schema",
    .usage = "",
    .help = "Print the tables and views as Markdown",
    .declare = declare,
};

}  // namespace gpuprof::app
