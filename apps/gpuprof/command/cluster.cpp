// gpuprof cluster: many profiles as one store. The Python package does it, with pyarrow, DuckDB and
// Dask.
#include "apps/gpuprof/command/cluster.hpp"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/record/launch/target.hpp"

namespace gpuprof::app {
namespace {

constexpr std::string_view how_to_get = "pip install 'gpuprof-cuda[cluster]' brings what it needs";

// Unlike `python3 -m`, this imports nothing from the working directory. argv[1] is the folder of
// the package.
constexpr const char* start =
    "import sys; f = sys.argv.pop(1); sys.path[:1] = [] if f in sys.path else [f]; "
    "from gpuprof_cuda._cluster.command import main; sys.exit(main())";

Error cannot_run(const std::string& python, const std::string& why) {
  return Error("gpuprof cluster needs Python, and " + python + " cannot be run: " + why,
               std::string(how_to_get), ExitCode::internal);
}

std::string path_of(const std::string& name) {
  try {
    return launch::look_up(name);
  } catch (const Error& error) {
    throw cannot_run(name, error.what());
  }
}

}  // namespace

std::vector<std::string> cluster_line(const std::vector<std::string>& words) {
  const std::filesystem::path packages = python_packages();
  std::error_code error;
  if (!std::filesystem::exists(packages / "gpuprof_cuda" / "_cluster", error)) {
    throw Error("gpuprof cluster needs gpuprof's Python package, and " + packages.string() +
                    " does not have it",
                std::string(how_to_get), ExitCode::internal);
  }
  std::vector<std::string> line{path_of(python_of(packages).string()), "-c", start,
                                packages.string()};
  line.insert(line.end(), words.begin(), words.end());
  return line;
}

int run_cluster(const std::vector<std::string>& words) {
  std::vector<std::string> line = cluster_line(words);
  std::vector<char*> arguments;
  for (std::string& word : line) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  signal(SIGPIPE, SIG_DFL);
  execv(arguments[0], arguments.data());
  throw cannot_run(line[0], std::strerror(errno));
}

bool is_store(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(std::filesystem::path(path) / "store.json", ignored);
}

extern const Subcommand cluster_command{
    .name = "cluster",
    .usage = "build|report|view ...",
    .help = "Read the profiles of many ranks as one: who is late, and why",
    .rare = true,
    .declare = [](Grammar& grammar) -> std::function<int()> {
      auto words = std::make_shared<std::vector<std::string>>();
      grammar.take_all(*words);
      return [words] { return run_cluster(*words); };
    },
};

}  // namespace gpuprof::app
