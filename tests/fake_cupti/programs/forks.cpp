// forks HOW [PROGRAM [ARGUMENT…]]: 20 launches, a child, 20 launches more.
//   calls     the child calls the API, which does not work there, and exits
//   _exit     the child ends at once
//   dies      the child crashes
//   long      the child outlives the parent by half a second
//   exec      the child is PROGRAM
//   spawn     as exec, by posix_spawn
//   busy      the child is forked while 4 threads launch
//   replace   there is no child: the process becomes PROGRAM
// Ends with 3 when the child did not end as it should.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

extern char** environ;

int main(int, char** argv) {
  const std::string_view how = argv[1] ? argv[1] : "calls";
  fake_launch("parent", 20);
  if (how == "replace") {
    execvp(argv[2], argv + 2);
    return 4;
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  if (how == "busy") {
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        while (!stop.load()) fake_launch("busy", 10);
      });
    }
    usleep(20'000);
  }
  pid_t child;
  if (how == "spawn") {
    if (posix_spawnp(&child, argv[2], nullptr, nullptr, argv + 2, environ) != 0) return 4;
  } else {
    child = fork();
  }
  if (child == 0) {
    if (how == "_exit") _exit(0);
    if (how == "dies") std::abort();
    if (how == "exec") {
      execvp(argv[2], argv + 2);
      _exit(127);
    }
    fake_launch("child", 5);
    fake_nvtx_push("child");
    fake_nvtx_pop();
    if (how == "long") usleep(500'000);
    std::exit(0);
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
  fake_launch("parent", 20);
  if (how == "long") return 0;
  int status = 0;
  waitpid(child, &status, 0);
  const bool right =
      how == "dies" ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status);
  return right ? 0 : 3;
}
