// What a process says to the launcher besides its rows, over a channel and without a collector.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/stream.hpp"
#include "tests/unit/launcher_end.hpp"

using namespace gpuprof;
using namespace gpuprof::collect;

namespace {

struct Ends {
  test::LauncherEnd launcher;
  Channel channel;
  Stream stream{channel};

  Ends() { REQUIRE(channel.adopt(launcher.collectors_end())); }

  std::vector<wire::Frame> said() {
    return launcher.read_all([] { return false; });
  }
};

wire::Fields fields_of(const wire::Frame& frame) { return wire::Decoder(frame.payload()).fields(); }

std::vector<wire::Statistic> one_statistic(std::uint64_t value) {
  return {{"", "records_packed", value}};
}

// A socket that the launcher listens at, and one connection to it.
class Listening {
 public:
  Listening() {
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path().c_str(), sizeof address.sun_path - 1);
    REQUIRE(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(listen(socket_, 1) == 0);
  }
  ~Listening() { close(socket_); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  std::string path() const { return folder_ / "socket"; }
  std::string config_path() const { return folder_ / wire::config_file; }
  // Any thread, so nothing is asserted.
  bool accept(Channel& end) { return end.adopt(::accept(socket_, nullptr, nullptr)); }

 private:
  TemporaryFolder folder_;
  int socket_ = -1;
};

wire::Encoder config(const char* text) {
  wire::Fields fields;
  fields.set("kinds", text);
  wire::Encoder encoder;
  encoder.fields(fields);
  return encoder;
}

}  // namespace

TEST_CASE("a hello has its answer") {
  Listening listening;
  wire::Fields said;
  std::thread launcher([&] {
    Channel end;
    wire::Frame hello;
    if (!listening.accept(end) || !end.receive(hello, 60'000)) return;
    wire::Decoder decoder(hello.payload());
    if (decoder.integer<std::uint32_t>() == wire::version) said = decoder.fields();
    end.send(wire::FrameType::config, config("1,2"));
  });
  Channel channel;
  Stream stream(channel);
  wire::Fields facts;
  facts.set("executable", "/bin/sampler");
  const auto answer = stream.greet(facts, listening.path());
  launcher.join();
  REQUIRE(answer);
  CHECK(answer->text("kinds") == "1,2");
  CHECK(said.text("executable") == "/bin/sampler");
  CHECK_FALSE(stream.late_answer(wire::Frame{}));
}

TEST_CASE("neither nobody at a socket nor one who says something else has an answer to a hello") {
  Channel channel;
  CHECK_FALSE(Stream(channel).greet({}, "/nowhere/socket"));
  Listening listening;
  std::thread launcher([&] {
    Channel end;
    if (!listening.accept(end)) return;
    end.send(wire::FrameType::goodbye, wire::Encoder());
    wire::Frame hello;
    end.receive(hello, 60'000);
  });
  Channel other;
  CHECK_FALSE(Stream(other).greet({}, listening.path()));
  CHECK_FALSE(other.alive());
  launcher.join();
}

TEST_CASE(
    "what a launcher that stands still has written down is its answer, and what it says then") {
  Listening listening;
  const wire::Encoder written = config("7");
  std::ofstream(listening.config_path(), std::ios::binary)
      .write(reinterpret_cast<const char*>(written.bytes().data()),
             static_cast<std::streamsize>(written.bytes().size()));
  Channel channel;
  Stream stream(channel);
  const auto answer = stream.greet({}, listening.path());
  REQUIRE(answer);
  CHECK(answer->text("kinds") == "7");
  Channel end;
  REQUIRE(listening.accept(end));
  end.send(wire::FrameType::config, config("8"));
  wire::Frame frame;
  REQUIRE(channel.receive(frame, 60'000));
  const auto late = stream.late_answer(frame);
  REQUIRE(late);
  CHECK(late->text("kinds") == "8");
  // What comes after that is no answer.
  CHECK_FALSE(stream.late_answer(frame));
}

TEST_CASE("statistics are sent when they differ, and at the end of a standstill") {
  Ends ends;
  for (const std::uint64_t value : {1, 1, 2}) {
    ends.stream.statistics(false, [&] { return one_statistic(value); });
  }
  CHECK(ends.said().size() == 2);
  ends.stream.statistics(true, [] { return one_statistic(2); });
  CHECK(ends.said().empty());
}

TEST_CASE("what is said can be read") {
  Ends ends;
  ends.stream.tell("warning", "so it is");
  wire::WireTable table;
  table.id = 7;
  table.name = "SAMPLE";
  table.columns.resize(1);
  table.columns[0].name = "value";
  table.columns[0].type = schema::Type::u32;
  table.columns[0].width = 4;
  CHECK(ends.stream.define(std::vector{table}));
  ends.stream.goodbye();
  const auto said = ends.said();
  REQUIRE(said.size() == 3);
  CHECK(said[0].type == wire::FrameType::info);
  CHECK(fields_of(said[0]).text("warning") == "so it is");
  CHECK(fields_of(said[0]).integer("time") > 0);
  const auto defined = wire::decode_table(said[1].payload());
  REQUIRE(defined);
  CHECK(defined->name == "SAMPLE");
  CHECK(said[2].type == wire::FrameType::goodbye);
}

TEST_CASE("definitions that nobody takes") {
  Ends ends;
  ends.launcher.hang_up();
  CHECK_FALSE(ends.stream.define(std::vector<wire::WireTable>(1)));
}

TEST_CASE("unexpected results of CUPTI are counted each time and reported once") {
  Ends ends;
  CheckedApi cupti;
  cupti.cuptiGetResultString = [](CUptiResult result, const char** text) {
    if (result != CUPTI_ERROR_UNKNOWN) return CUPTI_ERROR_INVALID_PARAMETER;
    *text = "CUPTI_ERROR_UNKNOWN";
    return CUPTI_SUCCESS;
  };
  // Before there is a ledger, too.
  CHECK_FALSE(cupti.try_("cuptiOne", CUPTI_ERROR_UNKNOWN));
  wire::Ledger ledger{};
  cupti.count_in(ledger);
  CHECK(cupti.try_("cuptiOne", CUPTI_SUCCESS));
  CHECK_FALSE(cupti.try_("cuptiOne", CUPTI_ERROR_NOT_READY, {CUPTI_ERROR_NOT_READY}));
  const auto& errors = ledger.counted[static_cast<std::size_t>(wire::Count::cupti_errors)];
  CHECK(errors == 0);
  CHECK_FALSE(cupti.try_("cuptiOne", CUPTI_ERROR_NOT_READY, {CUPTI_ERROR_INVALID_KIND}));
  CHECK_FALSE(cupti.try_("cuptiTwo", static_cast<CUptiResult>(12345)));
  CHECK(errors == 2);
  cupti.tell_unexpected(ends.stream);
  cupti.tell_unexpected(ends.stream);
  const auto said = ends.said();
  REQUIRE(said.size() == 2);
  CHECK(fields_of(said[0]).text("warning") == "cuptiOne: CUPTI_ERROR_UNKNOWN");
  CHECK(fields_of(said[1]).text("warning") == "cuptiTwo: error 12345");
  // Of more functions than there is room for, the count.
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (int i = 0; i < 100; ++i) all.push_back("cupti" + std::to_string(i));
    return all;
  }();
  for (const std::string& name : names) CHECK_FALSE(cupti.try_(name.c_str(), CUPTI_ERROR_UNKNOWN));
  CHECK(errors == 102);
  cupti.tell_unexpected(ends.stream);
  CHECK(ends.said().size() == 30);
}

TEST_CASE("a call without which nothing works says what to give up with") {
  CheckedApi cupti;
  cupti.cuptiGetResultString = [](CUptiResult, const char**) {
    return CUPTI_ERROR_INVALID_PARAMETER;
  };
  CHECK_FALSE(cupti.check("cuptiOne", CUPTI_SUCCESS));
  CHECK(cupti.check("cuptiOne", CUPTI_ERROR_UNKNOWN) == "cuptiOne: error 999");
}
