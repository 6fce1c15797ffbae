// cpu_work HOW [SECONDS]: what threads use the processor for. SECONDS are a thread's own or, for
// forks, threads and blocks, the program's: a busy machine takes longer for the same.
//   shares   two threads work: 70 % in seven_tenths(), 30 % in three_tenths(), both called by
//            work(); prints the threads' ids
//   handler  a handler of the program's own for SIGURG, which it sends itself while it works;
//            prints how many were sent and how many the handler got
//   handler_later   the same, and the handler comes when it has worked for half of the time
//   forks    forks, and executes /bin/true, all the time
//   threads  threads that come and go all the time
//   blocks   calls that wait, all the time, in threads that also do a little; prints how
//            many calls, and how many failed with EINTR
//   lost     works in functions that have put anything into the frame pointer and the stack
//   masked   works in threads that block SIGURG
//   waits    a thread that does a little, and waits for SIGURG with sigtimedwait(), 19 ms of 20,
//            for SECONDS of the wall clock; prints how many it got
//   suspends   the same with ppoll(), which alone lets SIGURG through; prints how often it failed
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

double seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

volatile std::uint64_t result;

}  // namespace

// Not static: their names are looked for.
[[gnu::noinline]] void turn_wheels() {
  std::uint64_t value = result + 1;
  for (int i = 0; i < 200'000; ++i) value = value * 6364136223846793005u + 1442695040888963407u;
  result = value;
}

[[gnu::noinline]] void seven_tenths(double time) {
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + time;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) turn_wheels();
  asm volatile("");  // a call is not the last thing
}

[[gnu::noinline]] void three_tenths(double time) {
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + time;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) turn_wheels();
  asm volatile("");
}

[[gnu::noinline]] void work(double time) {
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + time;
  constexpr double piece = 0.05;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
    seven_tenths(0.7 * piece);
    three_tenths(0.3 * piece);
  }
  asm volatile("");
}

namespace {

void shares(double time) {
  const auto in_thread = [time] {
    std::printf("%ld\n", syscall(SYS_gettid));
    work(time);
  };
  std::thread other(in_thread);
  in_thread();
  other.join();
}

std::atomic<int> got{0};

void count(int, siginfo_t* info, void*) {
  if (info->si_code != SI_TIMER) ++got;
}

void set_handler() {
  struct sigaction action = {};
  action.sa_sigaction = &count;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGURG, &action, nullptr);
}

int send_signals(double time, int before) {
  int sent = before;
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + time;
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
    turn_wheels();
    raise(SIGURG);
    ++sent;
  }
  return sent;
}

void fork_all_the_time(double time) {
  const double end = seconds(CLOCK_PROCESS_CPUTIME_ID) + time;
  int failed = 0, all = 0;
  for (; seconds(CLOCK_PROCESS_CPUTIME_ID) < end; ++all) {
    turn_wheels();
    const pid_t child = fork();
    if (child == 0) {
      turn_wheels();
      execl("/bin/true", "true", nullptr);
      _exit(9);
    }
    int status = 0;
    failed += child < 0 || waitpid(child, &status, 0) != child || status != 0 ? 1 : 0;
  }
  std::printf("%d %d\n", all, failed);
}

void thread_all_the_time(double time) {
  const double end = seconds(CLOCK_PROCESS_CPUTIME_ID) + time;
  while (seconds(CLOCK_PROCESS_CPUTIME_ID) < end) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([i] {
        do turn_wheels();
        while (seconds(CLOCK_THREAD_CPUTIME_ID) < 0.015 * i);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

void block(double time) {
  std::atomic<int> calls{0}, interrupted{0};
  int ends[2];
  if (pipe(ends) != 0) return;
  const int waiter = epoll_create1(0);
  epoll_event event{};
  event.events = EPOLLIN;
  epoll_ctl(waiter, EPOLL_CTL_ADD, ends[0], &event);
  const double until = seconds(CLOCK_PROCESS_CPUTIME_ID) + time;
  std::atomic<bool> done{false};
  const auto repeat = [&](auto&& call) {
    while (seconds(CLOCK_PROCESS_CPUTIME_ID) < until) {
      for (int i = 0; i < 3; ++i) turn_wheels();
      errno = 0;
      if (call() < 0 && errno == EINTR) ++interrupted;
      ++calls;
    }
  };
  std::thread writer([&] {
    while (!done.load()) {
      usleep(2000);
      if (write(ends[1], "x", 1) < 0) break;
    }
  });
  std::vector<std::thread> threads;
  threads.emplace_back([&] {
    repeat([&] {
      char byte = 0;
      return read(ends[0], &byte, 1);
    });
  });
  threads.emplace_back([&] {
    repeat([] {
      const timespec some{0, 1'000'000};
      return nanosleep(&some, nullptr);
    });
  });
  threads.emplace_back([&] { repeat([] { return poll(nullptr, 0, 1); }); });
  threads.emplace_back([&] {
    repeat([&] {
      epoll_event one{};
      return epoll_wait(waiter, &one, 1, 1);
    });
  });
  for (std::thread& thread : threads) thread.join();
  done.store(true);
  writer.join();
  std::printf("%d %d\n", calls.load(), interrupted.load());
}

#if defined(__x86_64__)
// Loops with the stack pointer and the frame pointer somewhere else: for a signal handler there
// must be room below.
[[gnu::noinline]] void lose_stack(std::uint64_t stack, std::uint64_t frame, std::uint64_t loops) {
  asm volatile(
      "movq %%rsp, %%r12\n\t"
      "movq %%rbp, %%r13\n\t"
      "movq %[stack], %%rsp\n\t"
      "movq %[frame], %%rbp\n\t"
      "1: decq %[loops]\n\t"
      "jnz 1b\n\t"
      "movq %%r12, %%rsp\n\t"
      "movq %%r13, %%rbp\n\t"
      : [loops] "+r"(loops)
      : [stack] "r"(stack), [frame] "r"(frame)
      : "r12", "r13", "memory", "cc");
}
#endif

void lose_frames(double time) {
#if defined(__x86_64__)
  constexpr std::size_t words = 16 << 10;
  std::vector<std::uint64_t> room(words);
  const double end = seconds(CLOCK_THREAD_CPUTIME_ID) + time;
  std::uint64_t random = 1;
  const auto next = [&random] {
    return random = random * 6364136223846793005u + 1442695040888963407u;
  };
  const auto here = reinterpret_cast<std::uint64_t>(room.data());
  while (seconds(CLOCK_THREAD_CPUTIME_ID) < end) {
    for (std::uint64_t& word : room) {
      const std::uint64_t value = next();
      word = value % 4 == 0   ? value
             : value % 4 == 1 ? here + (value >> 40) % (words * 8) / 8 * 8
             : value % 4 == 2 ? reinterpret_cast<std::uint64_t>(&lose_stack) + value % 256
                              : value % 4096;
    }
    const std::uint64_t value = next();
    const std::uint64_t frame = value % 3 == 0   ? value
                                : value % 3 == 1 ? here + words * 4 + value % 4096 / 8 * 8
                                                 : 0;
    // Sometimes the very end of the room.
    const std::uint64_t stack = here + words * 8 - (value >> 32) % 2048 / 8 * 8;
    lose_stack(stack, frame, 10'000'000);
  }
#else
  work(time);
#endif
}

void block_signal() {
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGURG);
  pthread_sigmask(SIG_BLOCK, &mask, nullptr);
}

void wait_for_signal(double time, bool by_poll) {
  sigset_t mask, none;
  sigemptyset(&mask);
  sigemptyset(&none);
  sigaddset(&mask, SIGURG);
  const double end = seconds(CLOCK_MONOTONIC) + time;
  int all = 0;
  while (seconds(CLOCK_MONOTONIC) < end) {
    for (int i = 0; i < 4; ++i) turn_wheels();
    const timespec some{0, 19'000'000};
    if (by_poll) {
      all += ppoll(nullptr, 0, &some, &none) < 0;
    } else {
      all += sigtimedwait(&mask, nullptr, &some) == SIGURG;
    }
  }
  std::printf("%d\n", all);
}

// The driver maps its devices at low addresses, before the program, and nobody can read them.
void map_device() {
  void* const place = reinterpret_cast<void*>(std::uintptr_t{0x200000000});
  const int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  (void)mmap(place, 4096, PROT_NONE, MAP_PRIVATE | MAP_FIXED_NOREPLACE, file, 0);
  close(file);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "shares";
  const double time = argc > 2 ? std::atof(argv[2]) : 1;
  int sent = 0;
  if (how == "handler") set_handler();
  if (how == "masked" || how == "waits" || how == "suspends") block_signal();
  map_device();
  fake_init();
  fake_launch("first", 1);
  if (how == "shares") shares(time);
  if (how == "masked") work(time);
  if (how == "handler") sent = send_signals(time, sent);
  if (how == "handler_later") {
    work(time / 2);
    set_handler();
    sent = send_signals(time / 2, sent);
  }
  if (how.starts_with("handler")) std::printf("%d %d\n", sent, got.load());
  if (how == "forks") fork_all_the_time(time);
  if (how == "threads") thread_all_the_time(time);
  if (how == "blocks") block(time);
  if (how == "lost") lose_frames(time);
  if (how == "waits" || how == "suspends") wait_for_signal(time, how == "suspends");
  fake_launch("last", 1);
  return 0;
}
