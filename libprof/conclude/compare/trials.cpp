#include "libprof/conclude/compare/trials.hpp"

#include <filesystem>

#include "libprof/base/error.hpp"
#include "libprof/record/launch/target.hpp"

namespace gpuprof::compare {
namespace {

constexpr const char* shell = "/bin/sh";

std::vector<std::string> recording_of(const std::string& command, const std::string& profile,
                                      const std::vector<std::string>& options) {
  const std::string gpuprof = std::filesystem::read_symlink("/proc/self/exe").string();
  // The first shell only sends standard output to standard error.
  std::vector<std::string> words{shell, "-c",   "exec \"$0\" \"$@\" >&2", gpuprof, "-q",
                                 "-o",  profile};
  words.insert(words.end(), options.begin(), options.end());
  words.insert(words.end(), {"--", shell, "-c", command});
  return words;
}

}  // namespace

std::vector<int> turns(int runs) {
  std::vector<int> order;
  for (int run = 0; run < runs; ++run) {
    order.push_back(run % 2);
    order.push_back(1 - run % 2);
  }
  return order;
}

std::string Trials::record(const std::string& command, const std::string& name) const {
  std::string profile = folder_ + "/" + name + ".sqlite";
  launch::Target target;
  target.start(recording_of(command, profile, options_), {});
  target.wait(-1);
  const int code = target.exit_code();
  if (target.was_interrupted()) {
    throw Error("interrupted", "", static_cast<ExitCode>(code > 128 ? code : 130));
  }
  if (code != 0) {
    throw Error(name + " ended with " + std::to_string(code) + ": " + command,
                "what it printed is above", ExitCode::program_failed);
  }
  if (!std::filesystem::exists(profile)) {
    throw Error(name + " left no profile: " + command, "it may not use a GPU",
                ExitCode::program_failed);
  }
  return profile;
}

}  // namespace gpuprof::compare
