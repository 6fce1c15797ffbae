// obeys: does what lines on standard input say, and answers each with "done": "launch N" launches N
// kernels and waits for them, "range NAME MS" launches one in an NVTX range of this length, "ask N"
// asks for N bytes of memory, "begin" launches others on a thread until "end", "capture" begins a
// stream capture that "captured" ends, "fork" makes a child that waits forever, and "exit" ends
// with 7. "compute" makes a thread, and says its id; "work MS" has each of these threads compute
// for that long of its processor time. "handle" sets a handler for SIGURG, and "urge" raises that
// and says how many the handler got, and how many of them were a timer's. At the start it says
// "ready".
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
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

// For the threads that compute: the number of orders, the ms of the last one (0: the end), and how
// many threads have carried it out.
std::atomic<int> orders{0}, order_ms{0}, computed{0};
std::atomic<int> urged{0}, timed{0};

void count_urges(int, siginfo_t* info, void*) {
  ++urged;
  if (info->si_code == SI_TIMER) ++timed;
}

}  // namespace

// Not static: its name is looked for.
[[gnu::noinline]] void compute_for(int ms) {
  const auto ran = [] {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
  };
  volatile std::uint64_t value = 1;
  for (const std::int64_t end = ran() + ms * std::int64_t{1'000'000}; ran() < end;) {
    for (int i = 0; i < 10'000; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  }
}

void follow_orders(int orders_seen) {
  while (true) {
    orders.wait(orders_seen);
    ++orders_seen;
    if (order_ms.load() == 0) return;
    compute_for(order_ms.load());
    ++computed;
  }
}

void order(int ms) {
  computed.store(0);
  order_ms.store(ms);
  ++orders;
  orders.notify_all();
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
      computing.emplace_back([&thread, seen = orders.load()] {
        thread.store(syscall(SYS_gettid));
        follow_orders(seen);
      });
      while (thread.load() == 0) std::this_thread::yield();
      std::cout << thread.load() << std::endl;
    } else if (word == "work" && std::cin >> times) {
      order(times);
      while (computed.load() < static_cast<int>(computing.size())) usleep(1000);
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
  order(0);
  if (beside.joinable()) beside.join();
  for (std::thread& thread : computing) thread.join();
  return code;
}
