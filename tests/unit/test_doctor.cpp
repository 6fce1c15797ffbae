// What tests/cli/test_doctor.py cannot cause: checks that hang or throw, and single facts.
#include <catch2/catch.hpp>

#include <condition_variable>
#include <fstream>
#include <mutex>
#include <sstream>
#include <stdexcept>

#include "libprof/doctor/facts.hpp"
#include "libprof/doctor/print.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using doctor::Answer;

namespace {

// Never destroyed: the check that waits outlives the test.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
};
Gate& gate() {
  static Gate* const it = new Gate;
  return *it;
}

doctor::Findings hang(const doctor::System&) {
  std::unique_lock lock(gate().mutex);
  gate().changed.wait(lock, [] { return gate().open; });
  return doctor::ok("too late");
}

doctor::Findings fail(const doctor::System&) { throw std::runtime_error("out of luck"); }

doctor::Findings shine(const doctor::System&) { return doctor::ok("\x1b[2Jbright"); }

}  // namespace

TEST_CASE("a check that hangs or throws is unknown, and the others answer") {
  const doctor::Check hanging{"hanging", "Does it end?", hang};
  const doctor::Check failing{"failing", "Does it throw?", fail};
  const doctor::Check shining{"shining", "Does it shine?", shine};
  const doctor::Check* const checks[] = {&hanging, &failing, &shining};
  const auto began = std::chrono::steady_clock::now();
  const auto results = doctor::examine(std::make_shared<const doctor::System>(), checks,
                                       std::chrono::milliseconds(300));
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(60));
  REQUIRE(results.size() == 3);
  CHECK(results[0].findings[0].answer == Answer::unknown);
  CHECK(results[0].findings[0].text == "the system did not answer in time");
  CHECK(results[1].findings[0].answer == Answer::unknown);
  CHECK(results[1].findings[0].text == "out of luck");
  CHECK(results[2].findings[0].answer == Answer::ok);
  CHECK(doctor::count(results, Answer::unknown) == 2);

  std::ostringstream text;
  doctor::print(results, text);
  CHECK(text.str().find('\x1b') == std::string::npos);
  CHECK(text.str().find("1 ok, 0 cannot, 2 unknown\n") != std::string::npos);
  {
    const std::lock_guard lock(gate().mutex);
    gate().open = true;
  }
  gate().changed.notify_all();
}

TEST_CASE("versions of drivers") {
  using Parts = std::array<int, 3>;
  CHECK(doctor::parts_of("580.159.03") == Parts{580, 159, 3});
  CHECK(doctor::parts_of("580") == Parts{580, 0, 0});
  CHECK(doctor::parts_of("1.2.3.4") == Parts{1, 2, 3});
  for (const char* text : {"", "x", "580.x", "-1.2", "99999999999.1", "580..1", " 580.1"}) {
    CHECK(doctor::parts_of(text) == Parts{});
  }
}

TEST_CASE("the mount of a path is the longest and latest") {
  const test::TemporaryFolder folder;
  std::filesystem::create_directories(folder.path() / "proc/self");
  std::ofstream(folder.path() / "proc/self/mountinfo")
      << "1 0 8:1 / / rw - ext4 a rw\n"
         "2 1 8:2 / /home rw - xfs b rw\n"
         "3 1 8:3 / /home/my\\040data ro,noexec shared:1 - nfs4 c rw\n"
         "4 1 8:4 / /home rw - btrfs d rw\n"
         "broken\n5 1 8:5 / /home - ext4\n";
  doctor::System system;
  system.root = folder.path();
  CHECK(doctor::mount_of(system, "/").type == "ext4");
  CHECK(doctor::mount_of(system, "/homes").type == "ext4");
  CHECK(doctor::mount_of(system, "/home/me").type == "btrfs");
  const doctor::Mount data = doctor::mount_of(system, "/home/my data/run.sqlite");
  CHECK(data.type == "nfs4");
  CHECK(data.has("ro"));
  CHECK_FALSE(data.has("exec"));
}
