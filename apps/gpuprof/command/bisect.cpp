// gpuprof bisect: the commit that made a program slower, found by git with gate as the judge.
#include <filesystem>
#include <string>
#include <vector>

#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/record/launch/target.hpp"

namespace gpuprof::app {
namespace {

struct BisectArguments {
  std::string good, bad = "HEAD", build = ":", threshold, options;
  int runs = 5;
  std::vector<std::string> command;
};

// The good commit is recorded first; git then judges others by the exit code of gate, where 125
// skips a commit. What git and the builds print goes to standard error.
constexpr char script[] = R"sh(
set -u
gpuprof=$1 good=$2 bad=$3 runs=$4 build=$5 folder=$6 program=$7
shift 7
original=$(git symbolic-ref -q --short HEAD || git rev-parse HEAD) || exit 26
good=$(git rev-parse --verify "$good^{commit}") || exit 26
bad=$(git rev-parse --verify "$bad^{commit}") || exit 26
if ! git diff --quiet HEAD --; then
  echo 'gpuprof: there are changes that are not committed' >&2
  exit 5
fi
trap 'git bisect reset "$original" >&2 || git checkout -q "$original"' EXIT
trap 'exit 130' INT TERM HUP
git checkout -q --detach "$good" || exit 26
sh -c "$build" >&2 || { echo 'gpuprof: the good commit does not build' >&2; exit 26; }
"$gpuprof" gate --calibrate "$program" -n "$runs" -o "$folder/good.json" "$@" >&2 || exit
git bisect start "$bad" "$good" >&2 || exit 26
git bisect run sh -c '
build=$1
shift
sh -c "$build" || exit 125
"$@"
code=$?
case $code in
  0 | 1) exit $code ;;
  *) exit 125 ;;
esac' judge "$build" "$gpuprof" gate --against good --dir "$folder" --floor "$folder/good.json" \
  --new "$program" -n "$runs" --strict "$@" >&2 || exit 26
git show --no-patch --format='%h %s' refs/bisect/bad
)sh";

int bisect(BisectArguments& arguments) {
  const std::vector<std::string>& words = arguments.command;
  if (words.empty()) {
    throw Error("no program is named", "gpuprof bisect --good v1.0 -- ./bench",
                ExitCode::no_application);
  }
  for (const std::string& revision : {arguments.good, arguments.bad}) {
    if (revision.starts_with('-')) {
      throw Error(revision + " is not a revision", "", ExitCode::bad_option);
    }
  }
  const TemporaryFolder folder;
  std::vector<std::string> line{"/bin/sh",
                                "-c",
                                script,
                                "bisect",
                                std::filesystem::read_symlink("/proc/self/exe").string(),
                                arguments.good,
                                arguments.bad,
                                std::to_string(arguments.runs),
                                arguments.build,
                                folder.path(),
                                words.size() == 1 ? words[0] : shell_line(words)};
  if (!arguments.options.empty()) line.insert(line.end(), {"--options", arguments.options});
  if (!arguments.threshold.empty()) line.insert(line.end(), {"--threshold", arguments.threshold});
  launch::Target target;
  target.start(line, {});
  target.wait(-1);
  return target.exit_code();
}

void declare_bisect(Grammar& grammar, BisectArguments& arguments) {
  grammar.take({.name = "--good",
                .to = &arguments.good,
                .help = "A commit at which the program is fast",
                .placeholder = "REV",
                .required = true});
  grammar.take("--bad", &arguments.bad, "A commit at which it is slow (HEAD)", "REV");
  grammar.take("--build", &arguments.build, "What builds a commit, for the shell", "CMD");
  grammar.take("-n", number_to(arguments.runs, 2, 50), "How many runs of each commit (5)", "N");
  grammar.take("--threshold", &arguments.threshold, "As of gpuprof gate", "PERCENT");
  grammar.take("--options", &arguments.options, "gpuprof's options for the runs", "WORDS");
  grammar.take_after_dashes(arguments.command);
  grammar.footer(
      "\n"
      "  gpuprof bisect --good v1.0 --build 'make -j8' -- ./bench\n"
      "\n"
      "Prints the first commit that is slower than the good one. Commits that do not build, fail "
      "or\n"
      "are not clearly slower or the same are skipped. The checkout is as before at the end. A\n"
      "command of one word is for the shell.");
}

}  // namespace

extern const Subcommand bisect_command{
    .name = "bisect",
    .usage = "--good REV -- CMD",
    .help = "Find the commit that made a program slower, with git",
    .rare = true,
    .declare = command<BisectArguments, declare_bisect, bisect>,
};

}  // namespace gpuprof::app
