#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/base/helper_process.hpp"

using namespace gpuprof;
using std::chrono::milliseconds;
using End = HelperOutput::End;

namespace {

// Far more than anything here takes; only what never ends lasts so long.
constexpr std::chrono::seconds for_ever{60};

const std::string shell = "/bin/sh";

std::vector<std::string> command(const std::string& text) { return {"-c", text}; }

}  // namespace

TEST_CASE("a helper's output and end") {
  const auto output = run_helper(shell, command("echo out; echo err >&2; exit 7"), for_ever);
  CHECK(output.end == End::by_itself);
  CHECK(WEXITSTATUS(output.status) == 7);
  CHECK(output.out == "out\n");
  CHECK(output.err == "err\n");
}

TEST_CASE("a helper that is not there", "[spawn]") {
  CHECK_THROWS_AS(run_helper("/no/such/program", {}, for_ever), Error);
}

TEST_CASE("a helper's output has a limit") {
  const auto output = run_helper(shell, command("head -c 3000000 /dev/zero"), for_ever);
  CHECK(output.status == 0);
  CHECK(output.out.size() == 1 << 20);
}

TEST_CASE("a helper that takes too long, or that nobody waits for any more") {
  CHECK(run_helper(shell, command("exec sleep 1000"), milliseconds(50)).end == End::overdue);
  // Also when others hold its pipes.
  CHECK(run_helper(shell, command("sleep 1000 & sleep 1000"), milliseconds(50)).end ==
        End::overdue);
  const auto output =
      run_helper(shell, command("echo began; exec sleep 1000"), for_ever, [] { return true; });
  CHECK(output.end == End::interrupted);
}

TEST_CASE("a helper is watched and killed", "[spawn]") {
  HelperProcess helper(shell, command("exec sleep 1000"), {}, for_ever);
  CHECK_FALSE(helper.ended());
  CHECK_FALSE(helper.overdue());
  helper.kill();
  for (int tries = 0; tries < 10'000 && !helper.ended(); ++tries) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  REQUIRE(helper.ended());
  CHECK_FALSE(helper.succeeded());
  CHECK(WTERMSIG(*helper.status()) == SIGKILL);
}

TEST_CASE("a helper's descriptors") {
  int results[2];
  REQUIRE(pipe2(results, O_CLOEXEC) == 0);
  std::string text;
  {
    const HelperProcess helper(shell,
                               command("readlink /proc/$$/fd/0; echo >&4; readlink /proc/$$/fd/5"),
                               {{results[1], 1}, {results[1], 4}, {results[0], 5}}, for_ever);
    close(results[1]);
    char piece[100];
    for (ssize_t got; (got = read(results[0], piece, sizeof piece)) > 0;) {
      text.append(piece, static_cast<std::size_t>(got));
    }
  }
  close(results[0]);
  CHECK(text.starts_with("/dev/null\n\npipe:"));
}
