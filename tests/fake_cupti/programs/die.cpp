// die HOW [N [MS]]: N launches, waits MS milliseconds, then ends in the way asked for.
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "return";
  const int n = argc > 2 ? std::atoi(argv[2]) : 100;
  const int wait_ms = argc > 3 ? std::atoi(argv[3]) : 0;
  fake_launch("_Z5dyingPf", n);
  fake_copy(1, 64);
  if (wait_ms) usleep(static_cast<useconds_t>(wait_ms) * 1000);

  if (how == "return") return 7;
  if (how == "exit") std::exit(8);
  if (how == "_exit") _exit(9);
  if (how == "waited") {
    fake_synchronize();
    _exit(14);
  }
  if (how == "quick_exit") std::quick_exit(10);
  if (how == "sigkill") raise(SIGKILL);
  if (how == "segfault") {
    volatile int* volatile nowhere = reinterpret_cast<int*>(16);
    *nowhere = 1;
  }
  if (how == "abort") std::abort();
  if (how == "terminate") {
    // Out of a thread: std::terminate.
    std::thread([] { throw 1; }).join();
  }
  if (how == "exit_in_thread") std::thread([] { std::exit(11); }).join();
  if (how == "main_thread_ends") {
    // The process lives on with its other thread.
    std::thread([n] {
      usleep(50'000);
      fake_launch("_Z5dyingPf", n);
      std::exit(12);
    }).detach();
#ifdef _LIBCPP_VERSION
    syscall(SYS_exit, 0);  // its static unwinder and glibc's pthread_exit do not work together
#else
    pthread_exit(nullptr);
#endif
  }
  if (how == "wait") {
    std::puts("waiting");
    std::fflush(stdout);
    while (true) pause();
  }
  return 99;
}
