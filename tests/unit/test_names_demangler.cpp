#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "libprof/names/demangle.hpp"
#include "libprof/names/demangler.hpp"

using gpuprof::Demangler;
using gpuprof::Readable;

namespace {

const std::string saxpy = "_Z5saxpyfPKfPf";
const std::string readable_saxpy = "saxpy(float, float const*, float*)";

// GCC 12's demangler never comes back from it. Others may: what holds for all is that it stays as
// it is and that the answer comes.
const std::string endless = "_Z1llAsrCpAsAsr";

// Each level doubles the text.
std::string bomb(int levels) {
  // S0_ is A; S1_, S2_ and so on are the arguments of f: each is A of the one before, twice.
  std::string name = "_Z1fI1AIiiE";
  std::string last = "S1_";
  for (int i = 0; i < levels; ++i) {
    name += "S0_I" + last + last + "E";
    last = "S" + std::string(1, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i + 2]) + "_";
  }
  return name + "EvT_";
}

std::set<pid_t> children() {
  std::set<pid_t> result;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream list(task.path() / "children");
    for (pid_t child; list >> child;) result.insert(child);
  }
  return result;
}

}  // namespace

TEST_CASE("names that are too much for the demangler stay as they are", "[tsan]") {
  Demangler demangler;
  CHECK(demangler.now(saxpy).text == readable_saxpy);
  CHECK(demangler.now(endless).text == endless);
  for (const int levels : {24, 30}) {
    const Readable readable = demangler.now(bomb(levels));
    CHECK(readable.text == bomb(levels));
    CHECK(readable.gave_up);
  }
  // What comes behind is not harmed.
  CHECK(demangler.now("_ZN2at6native6reduceILi4EEEvi").text == "void at::native::reduce<4>(int)");
  CHECK_FALSE(demangler.now("_ZBAD").gave_up);
  CHECK_FALSE(demangler.now("f").gave_up);
}

TEST_CASE("what a bomb is made of can be read while it is small") {
  Demangler demangler;
  const Readable readable = demangler.now(bomb(2));
  CHECK(readable.text.starts_with("void f<A<int, int>"));
  CHECK_FALSE(readable.gave_up);
}

TEST_CASE("limits of names, texts and memory") {
  Demangler::Limits limits;
  limits.name_bytes = 100;
  limits.text_bytes = 200;
  Demangler demangler(limits);
  const std::string long_name = "_Z200" + std::string(200, 'a') + "v";
  CHECK(demangler.now(long_name).gave_up);
  CHECK(demangler.now(long_name).text == long_name);
  const Readable long_text = demangler.now(bomb(8));
  CHECK(long_text.gave_up);
  CHECK(long_text.text == bomb(8));
  CHECK(demangler.now(saxpy).text == readable_saxpy);
}

TEST_CASE("all that was asked for at once is answered once", "[tsan]") {
  Demangler demangler;
  constexpr int threads = 4;
  constexpr int names = 300;
  std::atomic<int> right{0};
  std::atomic<int> wrong{0};
  std::atomic<int> left{threads * names};
  std::vector<std::thread> asking;
  for (int thread = 0; thread < threads; ++thread) {
    asking.emplace_back([&, thread] {
      for (int i = 0; i < names; ++i) {
        const std::string number = std::to_string(1'000'000 + thread * names + i);
        const bool bad = thread == 0 && i == 150;
        const std::string name = bad ? endless : "_Z8k" + number + "v";
        const std::string text = bad ? endless : "k" + number + "()";
        demangler.ask(name, [&, text](const Readable& readable) {
          ++(readable.text == text ? right : wrong);
          if (--left == 0) left.notify_all();
        });
      }
    });
  }
  for (std::thread& thread : asking) thread.join();
  for (int now = left.load(); now != 0; now = left.load()) left.wait(now);
  CHECK(right == threads * names);
  CHECK(wrong == 0);
}

TEST_CASE("too many lost children end it") {
  Demangler::Limits limits;
  limits.most_lost = 2;
  limits.name_ms = 50;
  Demangler demangler(limits);
  const auto before = children();
  CHECK(demangler.now(saxpy).text == readable_saxpy);
  for (int i = 0; i < 2; ++i) {
    for (const pid_t child : children()) {
      if (!before.contains(child)) kill(child, SIGKILL);
    }
    demangler.now("_Z1a" + std::to_string(i) + "v");
    // The first name behind its death is taken for the reason.
    demangler.now("_Z1b" + std::to_string(i) + "v");
  }
  CHECK(demangler.now("_Z1cv").gave_up);
  CHECK(demangler.now("_Z1cv").text == "_Z1cv");
  // What was known still is.
  CHECK(demangler.now(saxpy).text == readable_saxpy);
}

// Without descriptors a sanitizer does not start.
#ifndef GPUPROF_SANITIZED
TEST_CASE("without a child names stay as they are") {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int lowest = dup(0);
  close(lowest);
  {
    Demangler demangler;
    const rlimit none{static_cast<rlim_t>(lowest), before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    const Readable readable = demangler.now(saxpy);
    setrlimit(RLIMIT_NOFILE, &before);
    CHECK(readable.text == saxpy);
    CHECK(readable.gave_up);
    // It was not the name's fault.
    CHECK(demangler.now(saxpy).text == readable_saxpy);
  }
}
#endif

TEST_CASE("the child goes with its demangler and has nothing of its parent's open") {
  const auto before = children();
  pid_t child = 0;
  const int file = open("/dev/null", O_RDONLY);
  {
    Demangler demangler;
    demangler.now(saxpy);
    for (const pid_t one : children()) {
      if (!before.contains(one)) child = one;
    }
    REQUIRE(child > 0);
    int open_files = 0;
    for (const auto& each :
         std::filesystem::directory_iterator("/proc/" + std::to_string(child) + "/fd")) {
      ++open_files;
      CHECK(std::filesystem::read_symlink(each.path()).string().starts_with("socket:"));
    }
    CHECK(open_files == 1);
    rlimit limit{};
    REQUIRE(prlimit(child, RLIMIT_CORE, nullptr, &limit) == 0);
    CHECK(limit.rlim_max == 0);
    // Ctrl-C goes to the whole foreground group; the names are still wanted then.
    kill(child, SIGINT);
    kill(child, SIGTERM);
    CHECK(demangler.now("_Z5otherv").text == "other()");
    CHECK(kill(child, 0) == 0);
  }
  close(file);
  CHECK(kill(child, 0) != 0);
}

TEST_CASE("the child's memory is limited", "[memory_limit]") {
  const auto before = children();
  Demangler demangler;
  demangler.now(saxpy);
  int limited = 0;
  for (const pid_t child : children()) {
    if (before.contains(child)) continue;
    rlimit limit{};
    REQUIRE(prlimit(child, RLIMIT_AS, nullptr, &limit) == 0);
    CHECK(limit.rlim_cur != RLIM_INFINITY);
    ++limited;
  }
  CHECK(limited == 1);
}

TEST_CASE("the child goes when its parent is killed") {
  int ends[2];
  REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
  const pid_t parent = fork();
  if (parent == 0) {
    Demangler demangler;
    demangler.now(saxpy);
    pid_t child = 0;
    for (const pid_t one : children()) child = one;
    [[maybe_unused]] const ssize_t written = write(ends[1], &child, sizeof child);
    // Busy forever, or for as long as the kernel lets it.
    demangler.ask(endless, [](const Readable&) {});
    raise(SIGKILL);
  }
  pid_t child = 0;
  REQUIRE(read(ends[0], &child, sizeof child) == sizeof child);
  REQUIRE(child > 0);
  waitpid(parent, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
  const auto gone = [&] {
    std::ifstream status("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    std::getline(status, text);
    // Whoever is its parent now may not have asked for it yet.
    return text.empty() || text.find(") Z ") != text.npos || text.find(") X ") != text.npos;
  };
  for (int i = 0; i < 2000 && !gone(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(gone());
}
