// What the kernel says of threads, and what follows from it.
#include <sys/syscall.h>
#include <unistd.h>
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "libprof/host/remote_python.hpp"
#include "libprof/host/thread_state.hpp"

using namespace gpuprof::host;

namespace {

std::string in_call(long number, const char* first) {
  return std::to_string(number) + " " + first + " 0x80 0x0 0x7ffc 0x0 0x0 0x7ffc6c78 0x7f8ab12\n";
}

State state(const std::string& call, RunTimes before, RunTimes now) {
  const std::vector<RemotePython::Lock> locks{{0x1000, 0x10d0, 7}, {0x2000, 0x20d0, 0}};
  const auto parsed = parse_syscall(call);
  REQUIRE(parsed);
  return state_of(*parsed, before, now, locks);
}

}  // namespace

TEST_CASE("the state of a thread follows from its system call and its times") {
  const RunTimes times{1000, 500, 3}, ran{5000, 600, 4}, starved{1100, 4000, 4};
  CHECK(state("running\n", times, ran) == State::runs);
  CHECK(state("running\n", times, starved) == State::has_no_processor);
  CHECK(state("running\n", times, times) == State::has_no_processor);
  CHECK(state("running\n", {}, times) == State::runs);  // it is new
  CHECK(state("running\n", {}, {}) == State::runs);     // the kernel does not count
  CHECK(state(in_call(SYS_clock_nanosleep, "0x1"), times, ran) == State::sleeps);
  CHECK(state(in_call(SYS_read, "0x1000"), times, ran) == State::waits);
  CHECK(state(in_call(SYS_futex, "0x1028"), times, ran) == State::waits_for_lock);
  CHECK(state(in_call(SYS_futex, "0x20cf"), times, ran) == State::waits_for_lock);
  CHECK(state(in_call(SYS_futex, "0x10d0"), times, ran) == State::waits);
  CHECK(state("-1 0x7ffc6c78 0x7f8ab12\n", times, ran) == State::waits);  // for memory, say
}

TEST_CASE("what is not the kernel's is not taken for it") {
  for (const char* text : {"", "x", "12", "1 ", "1 2", "1 2 x", "99999999999999999999 1 1"}) {
    INFO(text);
    CHECK_FALSE(parse_schedstat(text));
  }
  CHECK(parse_schedstat("47562466 14832329 90\n") == RunTimes{47562466, 14832329, 90});
  for (const char* text : {"", "x", "202", "202 ", "202 0x", "202 0xfffffffffffffffff"}) {
    INFO(text);
    CHECK_FALSE(parse_syscall(text));
  }
}

TEST_CASE("a thread of this process is looked at") {
  ThreadState self(getpid(), static_cast<pid_t>(syscall(SYS_gettid)));
  if (!self.look({})) return;           // the system has no such files
  CHECK(self.state() == State::waits);  // for the file that it reads
  CHECK_FALSE(ThreadState(getpid(), 1 << 30).look({}));
}

TEST_CASE(
    "an interpreter is looked for in a process without one, and in memory that is not there") {
  RemotePython python([](std::uint64_t, std::span<std::byte>) { return false; });
  CHECK(python.find({}).empty());
  CHECK(python.find({{0x1000, 0x2000, true, 0, "/usr/bin/train"}}).empty());
  CHECK(python.find({{0x1000, 0x2000, true, 0, "/usr/bin/python3"}}) ==
        "the symbols of its Python cannot be read");
  CHECK_FALSE(python.found());
  RemotePython::Moment moment;
  CHECK_FALSE(python.read(moment));
}
