// signals SECONDS: launches, counts the SIGINT, SIGTERM and SIGUSR1 that arrive meanwhile, and ends
// with 10 times the SIGINT plus the others.
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

std::atomic<int> count{0};

void handler(int number) { count += number == SIGINT ? 10 : 1; }

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int number : {SIGINT, SIGTERM, SIGUSR1}) sigaction(number, &action, nullptr);
  fake_launch("counting", 10);
  std::puts("ready");
  std::fflush(stdout);
  timespec start{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &start);
  do {
    usleep(5000);
    fake_launch("counting", 1);
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (static_cast<double>(now.tv_sec - start.tv_sec) +
               1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec) <
           seconds);
  return count.load();
}
