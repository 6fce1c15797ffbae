// gpuprof info: the contents of a file.
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/report/contents.hpp"

namespace gpuprof::app {
namespace {

struct InfoArguments {
  std::string file;
  bool json = false;
  report::ContentsOptions options;
};

int info(InfoArguments& arguments) {
  reading::ProfileFile file(arguments.file);
  if (file.size() < 0) throw *file.problem();
  Progress progress;
  const auto contents = report::read_contents(file, arguments.file, arguments.options,
                                              [&](std::string_view what) { progress.show(what); });
  progress.clear();
  const int code = print_to_standard_output([&] {
    if (arguments.json) {
      std::cout << json_text(contents, 2) << '\n';
    } else {
      report::print_contents(contents);
    }
  });
  if (code != 0) return code;
  if (file.problem()) throw *file.problem();
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

void declare_info(Grammar& grammar, InfoArguments& arguments) {
  grammar.take_file("file", arguments.file, "A profile");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take("--hang-after", hang_after(arguments.options.hang_after),
               "Say what had not ended for this time, 30s unless given; 0: do not", "TIME");
  grammar.take("--exact", &arguments.options.exact,
               "Read all of a file above 512 MiB, to count records and find times");
}

}  // namespace

extern const Subcommand info_command{
    .name = "info",
    .usage = "FILE [--json]",
    .help = "Say what is in a profile: run, devices, records, losses",
    .declare = command<InfoArguments, declare_info, info>,
};

}  // namespace gpuprof::app
