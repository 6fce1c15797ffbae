#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <thread>

#include "libprof/base/whole.hpp"
#include "libprof/record/launch/listener.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

// Far more than anything here takes; only what never comes lasts so long.
constexpr std::chrono::seconds for_ever{60};

// A process of its own that runs `body` and ends without a word.
class Child {
 public:
  explicit Child(const std::function<void()>& body) : process_(fork()) {
    if (process_ != 0) return;
    // Memory that it asks for may never come: a thread may have held the allocator at the fork.
    alarm(static_cast<unsigned>(for_ever.count()));
    body();
    _exit(0);
  }
  ~Child() { wait(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void wait() {
    if (process_ > 0) waitpid(process_, nullptr, 0);
    process_ = -1;
  }

 private:
  pid_t process_;
};

// As a collector does: no more than system calls, for it runs in a fork of a program with threads.
class Collector {
 public:
  explicit Collector(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_STREAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) _exit(1);
  }

  void send(const wire::Frame& frame, int file = -1) const {
    const wire::FrameHeader header{static_cast<std::uint32_t>(frame.type), 0, frame.length};
    iovec pieces[] = {{const_cast<wire::FrameHeader*>(&header), sizeof header},
                      {frame.bytes.get(), frame.length}};
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = 2;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
    if (file >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* part = CMSG_FIRSTHDR(&message);
      part->cmsg_level = SOL_SOCKET;
      part->cmsg_type = SCM_RIGHTS;
      part->cmsg_len = CMSG_LEN(sizeof file);
      std::memcpy(CMSG_DATA(part), &file, sizeof file);
    }
    if (sendmsg(socket_, &message, MSG_NOSIGNAL) < 0) _exit(1);
  }

  // Waits for the answer to hello.
  bool is_answered() const {
    wire::FrameHeader header{};
    return recv(socket_, &header, sizeof header, MSG_WAITALL) == sizeof header &&
           header.type == static_cast<std::uint32_t>(wire::FrameType::config);
  }

  // The next configuration that it receives.
  wire::Fields next_config() const {
    wire::FrameHeader header{};
    if (recv(socket_, &header, sizeof header, MSG_WAITALL) != sizeof header) _exit(1);
    std::vector<std::byte> payload(header.length);
    if (!payload.empty() && recv(socket_, payload.data(), payload.size(), MSG_WAITALL) !=
                                static_cast<ssize_t>(payload.size())) {
      _exit(1);
    }
    return wire::Decoder(payload).fields();
  }

  // Says that there is an arena. What is in it only salvage would look at.
  void send_arena(const char* cupti) const {
    send(test::fields_frame(wire::FrameType::info, 0, {{"cupti_path", cupti}}));
    const int file = memfd_create("arena", 0);
    if (ftruncate(file, 1 << 16) != 0) _exit(1);
    send(test::fields_frame(wire::FrameType::arena, 0, {}), file);
  }

 private:
  int socket_;
};

struct Launched {
  explicit Launched(const std::string& salvage, milliseconds patience = for_ever)
      : listener({.config = config(),
                  .salvage_program = salvage,
                  .salvage_patience = patience,
                  .message =
                      [this](std::int64_t, const std::string& text) {
                        const std::lock_guard lock(mutex);
                        messages += text + "\n";
                      }},
                 queue) {}

  static wire::Fields config() {
    wire::Fields fields;
    fields.set("cupti", "/offered/libcupti.so");
    return fields;
  }

  std::string said() {
    const std::lock_guard lock(mutex);
    return messages;
  }

  // A process that dies and leaves an arena.
  void leave_arena(const char* cupti = "/offered/libcupti.so") {
    Child([&] {
      const Collector collector(listener.socket_path());
      collector.send(test::hello(0, getpid()));
      if (collector.is_answered()) collector.send_arena(cupti);
    }).wait();
  }

  // Frames up to the next end of a stream.
  std::vector<wire::Frame> until_the_end() {
    std::vector<wire::Frame> frames;
    const auto began = steady_clock::now();
    while (frames.empty() || frames.back().type != wire::FrameType::stream_end) {
      wire::Frame frame;
      queue.gather(1, steady_clock::now() + milliseconds(50));
      if (queue.pop(frame)) frames.push_back(std::move(frame));
      REQUIRE(steady_clock::now() - began < for_ever);
    }
    return frames;
  }

  std::mutex mutex;
  std::string messages;
  launch::FrameQueue queue{1 << 20, "/tmp"};
  launch::Listener listener;
};

bool counts_loss(const std::vector<wire::Frame>& frames) {
  for (const wire::Frame& frame : frames) {
    if (frame.type != wire::FrameType::statistics) continue;
    const auto statistics = wire::decode_statistics(frame.payload());
    for (const wire::Statistic& statistic : *statistics) {
      if (statistic.name == "salvage_failed" && statistic.value == 1) return true;
    }
  }
  return false;
}

std::string script(const test::TemporaryFolder& folder, const std::string& text) {
  const std::string path = folder / "salvage";
  {
    std::ofstream file(path);
    file << "#!/bin/sh\n" << text << "\n";
  }
  chmod(path.c_str(), 0700);
  return path;
}

}  // namespace

TEST_CASE("what is thrown for one process ends its stream only", "[tsan]") {
  launch::FrameQueue queue{1 << 20, "/tmp"};
  std::atomic<bool> fails{true};
  launch::Listener listener(
      {.config = {},
       .config_for = [&](std::uint32_t, const wire::Fields&) -> wire::Fields {
         if (fails.load()) throw std::bad_alloc();
         return {};
       },
       .message = [](std::int64_t, const std::string&) { throw std::bad_alloc(); }},
      queue);
  const auto is_answered = [&] {
    std::array<int, 2> ends{};
    REQUIRE(pipe(ends.data()) == 0);
    Child([&] {
      const Collector collector(listener.socket_path());
      collector.send(test::hello(0, getpid()));
      const char answered = collector.is_answered() ? 'y' : 'n';
      if (write(ends[1], &answered, 1) != 1) _exit(1);
    }).wait();
    char answered = 0;
    REQUIRE(read(ends[0], &answered, 1) == 1);
    for (const int end : ends) close(end);
    return answered == 'y';
  };
  CHECK_FALSE(is_answered());
  fails = false;
  CHECK(is_answered());
}

TEST_CASE("a salvage that hangs keeps nobody waiting", "[tsan]") {
  const test::TemporaryFolder folder;
  Launched launched(script(folder, "touch " + (folder / "began") + "; exec sleep 1000"));
  launched.leave_arena();
  const auto began = steady_clock::now();
  while (!std::filesystem::exists(folder / "began")) {
    REQUIRE(steady_clock::now() - began < for_ever);
    std::this_thread::sleep_for(milliseconds(5));
  }
  // Another process is served all the same.
  Child([&] {
    const Collector collector(launched.listener.socket_path());
    collector.send(test::hello(0, getpid()));
    if (collector.is_answered())
      collector.send(test::fields_frame(wire::FrameType::goodbye, 0, {}));
  }).wait();
  bool goodbye = false;
  for (const wire::Frame& frame : launched.until_the_end()) {
    goodbye |= frame.type == wire::FrameType::goodbye;
  }
  CHECK(goodbye);
  CHECK(launched.said().empty());
  // And whoever has waited enough is not kept.
  launched.listener.stop(true);
  CHECK(counts_loss(launched.until_the_end()));
}

TEST_CASE("a salvage that hangs is ended and counted", "[tsan]") {
  const test::TemporaryFolder folder;
  // It has children, too, that keep the socket.
  Launched launched(script(folder, "sleep 1000 & sleep 1000"), milliseconds(100));
  launched.leave_arena();
  CHECK(counts_loss(launched.until_the_end()));
  CHECK(launched.said().find("took too long") != std::string::npos);
}

TEST_CASE("what salvage leaves running does not keep the stream open") {
  const test::TemporaryFolder folder;
  Launched launched(script(folder, "sleep 1000 & exit 0"));
  launched.leave_arena();
  CHECK_FALSE(counts_loss(launched.until_the_end()));
  CHECK(launched.said().empty());
}

TEST_CASE("a salvage that fails or cannot be started is counted") {
  const test::TemporaryFolder folder;
  for (const std::string& program :
       {script(folder, "exit 1"), script(folder, "kill -SEGV $$"), folder / "missing"}) {
    CAPTURE(program);
    Launched launched(program);
    launched.leave_arena();
    CHECK(counts_loss(launched.until_the_end()));
    CHECK_FALSE(launched.said().empty());
  }
}

TEST_CASE("salvage cannot send more than its arena has room for") {
  const test::TemporaryFolder folder;
  // Unknown frames of 64 KiB, without end.
  const std::string frame =
      R"(printf '\115\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0'; head -c 65536 /dev/zero)";
  Launched launched(script(folder, "while :; do " + frame + "; done >&4"));
  launched.leave_arena();
  CHECK(counts_loss(launched.until_the_end()));
  CHECK(launched.said().find("claim more") != std::string::npos);
}

TEST_CASE("salvage loads no library that only the target vouches for") {
  const test::TemporaryFolder folder;
  // What it is given, for us to look at: the config, whose texts can be read as they are.
  Launched launched(script(folder, "cat /proc/self/fd/5 >" + (folder / "config") + "; exit 1"));
  const auto config_for = [&](const std::string& library) {
    launched.leave_arena(library.c_str());
    launched.until_the_end();
    std::ifstream file(folder / "config");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  CHECK(config_for("/offered/libcupti.so").find("/offered/libcupti.so") != std::string::npos);
  const std::string evil = folder / "evil.so";
  { std::ofstream file(evil); }
  chmod(evil.c_str(), 0666);
  CHECK(config_for(evil).find(evil) == std::string::npos);
  CHECK(launched.said().find(evil) != std::string::npos);
}

TEST_CASE("a sampler counts as no process and is informed when the last one has ended", "[tsan]") {
  launch::FrameQueue queue{1 << 20, "/tmp"};
  std::atomic<int> configured{0};
  launch::Listener listener({.config = {},
                             .config_for =
                                 [&](std::uint32_t, const wire::Fields&) {
                                   ++configured;
                                   return wire::Fields{};
                                 },
                             .message = {}},
                            queue);
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  Child sampler([&] {
    const Collector collector(listener.socket_path());
    collector.send(
        test::hello(0, getpid(), wire::version, {{wire::role_field, wire::sampler_role}}));
    // Its first configuration, and then a second one: {"stop": 1}.
    const wire::Fields config = collector.next_config();
    const char answered = config.find("stop") ? 'n' : 'y';
    if (write(ends[1], &answered, 1) != 1) _exit(1);
    const char told = collector.next_config().integer("stop") == 1 ? 'y' : 'n';
    if (write(ends[1], &told, 1) != 1) _exit(1);
  });
  char answer = 0;
  REQUIRE(read(ends[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  // It may still be counted as what it was before it said hello.
  const auto began = steady_clock::now();
  while (listener.samplers() == 0 && steady_clock::now() - began < for_ever) {
    listener.settle();
  }
  CHECK(listener.samplers() == 1);
  CHECK(listener.active() == 0);
  CHECK(listener.seen() == 0);
  CHECK(listener.active_processes().empty());
  CHECK(configured == 0);
  listener.end_samplers();
  REQUIRE(read(ends[0], &answer, 1) == 1);
  CHECK(answer == 'y');
  sampler.wait();
  while (listener.samplers() > 0 && steady_clock::now() - began < for_ever) {
    listener.settle();
  }
  CHECK(listener.samplers() == 0);
  for (const int end : ends) close(end);
}
