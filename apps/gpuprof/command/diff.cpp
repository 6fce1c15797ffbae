// gpuprof diff: what changed between runs.
#include <string>
#include <utility>
#include <vector>

#include "apps/gpuprof/command/sides.hpp"
#include "apps/gpuprof/commands.hpp"

namespace gpuprof::app {
namespace {

int diff(SidesArguments& arguments) {
  std::vector<compare::Run> a, b;
  if (const int code = read_sides(arguments, a, b)) return code;
  compare::Comparison result;
  return compare_sides(arguments, std::move(a), std::move(b), result);
}

void declare_diff(Grammar& grammar, SidesArguments& arguments) {
  declare_sides(grammar, arguments);
  grammar.footer(
      "\n"
      "  gpuprof diff before.sqlite after.sqlite\n"
      "  gpuprof diff before-*.sqlite -- after-*.sqlite\n"
      "  gpuprof diff --against main after-*.sqlite\n" +
      std::string(how_it_judges));
}

}  // namespace

extern const Subcommand diff_command{
    .name = "diff",
    .usage = "A... -- B...",
    .help = "Say what changed between runs, as parts that add up",
    .declare = command<SidesArguments, declare_diff, diff>,
    .values = sides_values,
};

}  // namespace gpuprof::app
