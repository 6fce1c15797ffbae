#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "libprof/collect/questions.hpp"

using namespace gpuprof;
using collect::Questions;

namespace {

// The launcher's end of the socket.
class Launcher {
 public:
  Launcher() {
    int ends[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    REQUIRE(here_.adopt(ends[0]));
    REQUIRE(channel.adopt(ends[1]));
  }

  // The next question; no fields: none came. Any thread, so nothing is asserted.
  wire::Fields asked() {
    wire::Frame frame;
    if (!here_.receive(frame, 60'000) || frame.type != wire::FrameType::question) return {};
    return wire::Decoder(frame.payload()).fields();
  }
  bool nothing_asked() {
    wire::Frame frame;
    return !here_.receive(frame, 0);
  }
  void say(const wire::Fields& fields) {
    wire::Encoder encoder;
    encoder.fields(fields);
    here_.send(wire::FrameType::config, encoder);
  }
  void answer(const wire::Fields& question, const char* scopes) {
    wire::Fields fields;
    fields.set("answer", question.text("number"));
    fields.set("scopes", scopes);
    say(fields);
  }

  collect::Channel channel;

 private:
  collect::Channel here_;
};

}  // namespace

TEST_CASE("an answer is waited for, and kept", "[tsan]") {
  Launcher launcher;
  Questions questions(launcher.channel);
  std::thread answering([&] {
    for (int i = 0; i < 2; ++i) {
      const wire::Fields question = launcher.asked();
      launcher.answer(question, question.text("kernel") == "first" ? "1" : "2");
    }
  });
  REQUIRE(questions.kernel("first"));
  CHECK(questions.kernel("first")->text("scopes") == "1");
  REQUIRE(questions.kernel("second"));
  CHECK(questions.kernel("second")->text("scopes") == "2");
  answering.join();
  CHECK(launcher.nothing_asked());
}

TEST_CASE("a launcher that does not answer keeps nobody for long", "[tsan]") {
  Launcher launcher;
  Questions questions(launcher.channel);
  CHECK_FALSE(questions.kernel("slow"));
  // Nobody waits again, for this or another answer: a thousand such waits would take long.
  for (int i = 0; i < 1000; ++i) {
    CHECK_FALSE(questions.kernel("slow"));
    CHECK_FALSE(questions.kernel(std::to_string(i)));
  }
  // An answer that comes late is taken all the same.
  launcher.answer(launcher.asked(), "7");
  wire::Frame frame;
  CHECK_FALSE(questions.receive(frame, 10));
  REQUIRE(questions.kernel("slow"));
  CHECK(questions.kernel("slow")->text("scopes") == "7");
}

TEST_CASE("what is no answer is left for the own thread", "[tsan]") {
  Launcher launcher;
  Questions questions(launcher.channel);
  std::thread answering([&] {
    const wire::Fields question = launcher.asked();
    wire::Fields other;
    other.set("enough", "kernel");
    launcher.say(other);
    launcher.answer(question, "1");
  });
  REQUIRE(questions.kernel("one"));
  answering.join();
  wire::Frame frame;
  REQUIRE(questions.receive(frame, 60'000));
  CHECK(wire::Decoder(frame.payload()).fields().text("enough") == "kernel");
  CHECK_FALSE(questions.receive(frame, 0));
}

TEST_CASE("threads that ask at once each get their answer", "[tsan]") {
  Launcher launcher;
  Questions questions(launcher.channel);
  constexpr int threads = 8;
  std::thread answering([&] {
    for (int i = 0; i < threads; ++i) {
      const wire::Fields question = launcher.asked();
      launcher.answer(question, std::string(question.text("kernel")).c_str());
    }
  });
  std::atomic<int> right{0};
  std::vector<std::thread> asking;
  for (int i = 0; i < threads; ++i) {
    asking.emplace_back([&, name = std::to_string(i)] {
      const Questions::Answer answer = questions.kernel(name);
      right += answer && answer->text("scopes") == name;
    });
  }
  for (std::thread& thread : asking) thread.join();
  answering.join();
  CHECK(right == threads);
}

TEST_CASE("a dead launcher is not waited for") {
  collect::Channel channel;
  int ends[2];
  REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
  REQUIRE(channel.adopt(ends[0]));
  close(ends[1]);
  Questions questions(channel);
  CHECK_FALSE(questions.kernel("one"));
  wire::Frame frame;
  CHECK_FALSE(questions.receive(frame, 60'000));
}
