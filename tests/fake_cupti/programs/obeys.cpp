// obeys: does what lines on standard input say, and answers each with "done": "launch N" launches N
// kernels and waits for them, "range NAME MS" launches one in an NVTX range of this length, "ask N"
// asks for N bytes of memory, "begin" launches others on a thread until "end", "capture" begins a
// stream capture that "captured" ends, "fork" makes a child that waits forever, and "exit" ends
// with 7. "compute" makes a thread that computes until the end, and says its id. "handle" sets a
// handler for SIGURG, and "urge" raises that and says how many the handler got, and how many of
// them were a timer's. At the start it says "ready".
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

std::atomic<bool> computes{true};
std::atomic<int> urged{0}, timed{0};

void count_urges(int, siginfo_t* info, void*) {
  ++urged;
  if (info->si_code == SI_TIMER) ++timed;
}

}  // namespace

// Not static: its name is looked for.
[[gnu::noinline]] void compute_until_the_end() {
  volatile std::uint64_t value = 1;
  while (computes.load()) value = value * 6364136223846793005u + 1442695040888963407u;
}

int main() {
  fake_launch("before", 5);
  std::cout << "ready" << std::endl;
  std::atomic<bool> goes_on{false};
  std::thread beside;
  std::vector<std::thread> computing;
  int code = 0;
  int times = 0;
  for (std::string word; code == 0 && std::cin >> word;) {
    if (word == "launch" && std::cin >> times) {
      fake_launch("counted", times);
      fake_synchronize();
    } else if (word == "begin") {
      goes_on.store(true);
      beside = std::thread([&] {
        while (goes_on.load()) {
          fake_launch("beside", 3);
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
      });
    } else if (word == "end") {
      goes_on.store(false);
      beside.join();
    } else if (word == "capture") {
      fake_capture_begin();
    } else if (word == "captured") {
      fake_capture_end();
    } else if (word == "fork") {
      const pid_t child = fork();
      if (child == 0) pause();
      std::cout << child << std::endl;
    } else if (word == "range" && std::cin >> word >> times) {
      fake_nvtx_push(word.c_str());
      fake_launch("ranged", 1);
      std::this_thread::sleep_for(std::chrono::milliseconds(times));
      fake_nvtx_pop();
    } else if (word == "ask") {
      std::uint64_t bytes = 0;
      std::cin >> bytes;
      fake_malloc(bytes);
    } else if (word == "compute") {
      std::atomic<long> thread{0};
      computing.emplace_back([&thread] {
        thread.store(syscall(SYS_gettid));
        compute_until_the_end();
      });
      while (thread.load() == 0) std::this_thread::yield();
      std::cout << thread.load() << std::endl;
    } else if (word == "handle") {
      struct sigaction action = {};
      action.sa_sigaction = &count_urges;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      sigaction(SIGURG, &action, nullptr);
    } else if (word == "urge") {
      raise(SIGURG);
      std::cout << urged.load() << ' ' << timed.load() << std::endl;
    } else if (word == "exit") {
      code = 7;
    }
    std::cout << "done" << std::endl;
  }
  goes_on.store(false);
  computes.store(false);
  if (beside.joinable()) beside.join();
  for (std::thread& thread : computing) thread.join();
  return code;
}
