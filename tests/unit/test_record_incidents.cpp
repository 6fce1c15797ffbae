// --trigger: ranges that take too long, ended or open, in a file that is being recorded.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "libprof/base/clock.hpp"
#include "libprof/record/incidents.hpp"
#include "tests/unit/loaded.hpp"

using namespace gpuprof;
using namespace std::chrono_literals;
using record::Incident;
using record::Incidents;

namespace {

// A file with a range of process 5 that began `before` ago, on a clock of CUPTI that began with the
// system's.
class RecordedRange {
 public:
  explicit RecordedRange(std::chrono::nanoseconds before)
      : begin_(clock_ns(CLOCK_REALTIME) - before.count()) {
    database().execute("INSERT INTO CLOCK(cupti, realtime) VALUES(1000, 1000)");
    database().execute("INSERT INTO StringTable(_id_, value) VALUES(77, 'load')");
    add_marker(1, 2, 0ns);
  }

  store::Database& database() { return loader_.database(); }

  void add_marker(int id, int flags, std::chrono::nanoseconds after) {
    database().execute(
        "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER(processId, id, flags, timestamp, name) VALUES(5, " +
        std::to_string(id) + ", " + std::to_string(flags) + ", " + time(after) + ", 77)");
  }
  void add_call(int process, std::chrono::nanoseconds after) {
    database().execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(processId, \"end\") VALUES(" +
                       std::to_string(process) + ", " + time(after) + ")");
  }

 private:
  std::string time(std::chrono::nanoseconds after) const {
    return std::to_string(begin_ + after.count());
  }

  store::Loader loader_ = test::make_loader();
  std::int64_t begin_;
};

const std::vector triggers{*record::Trigger::parsed("range:load>50ms")};

}  // namespace

TEST_CASE("a range whose end may be on its way is not open") {
  RecordedRange file(1min);
  Incidents incidents(file.database(), triggers, false);
  const Incidents::Clock::time_point begin(1h);
  CHECK(incidents.look(begin).empty());
  file.add_call(5, 1s);
  file.add_call(6, 9s);  // of another process
  CHECK(incidents.look(begin + 9s).empty());
  file.add_marker(1, 4, 20ms);
  CHECK(incidents.look(begin + 30s).empty());
}

TEST_CASE("a range is open once newer records of its process have come, or none for long") {
  RecordedRange file(1min);
  Incidents incidents(file.database(), triggers, false);
  const Incidents::Clock::time_point begin(1h);
  CHECK(incidents.look(begin).empty());

  SECTION("newer records") {
    file.add_call(5, 1s + 80ms);
    const std::vector<Incident> found = incidents.look(begin);
    REQUIRE(found.size() == 1);
    CHECK(found[0].process == 5);
    CHECK(found[0].text == "range \"load\" of process 5 is open for 80 ms, longer than 50 ms");
  }
  SECTION("silence") {
    const std::vector<Incident> found = incidents.look(begin + 10s);
    REQUIRE(found.size() == 1);
    CHECK(found[0].text.starts_with("range \"load\" of process 5 is open for 60"));
  }
  // Once is enough.
  file.add_marker(1, 4, 1s);
  CHECK(incidents.look(begin + 20s).empty());
}

TEST_CASE("a range that has ended takes what it took") {
  RecordedRange file(1min);
  Incidents incidents(file.database(), triggers, false);
  file.add_marker(1, 4, 70ms);
  const std::vector<Incident> found = incidents.look({});
  REQUIRE(found.size() == 1);
  CHECK(found[0].text == "range \"load\" of process 5 took 70 ms, longer than 50 ms");
}

TEST_CASE("the end of a range may come before its beginning") {
  RecordedRange file(1min);
  Incidents incidents(file.database(), triggers, false);
  file.add_marker(1, 4, 20ms);
  file.add_marker(3, 4, 90ms);
  const Incidents::Clock::time_point begin(1h);
  CHECK(incidents.look(begin).empty());
  file.add_marker(2, 4, 95ms);
  file.add_marker(2, 2, 30ms);
  file.add_marker(3, 2, 20ms);  // with the next look
  file.add_call(5, 5s);
  const std::vector<Incident> found = incidents.look(begin + 11s);
  REQUIRE(found.size() == 2);
  CHECK(found[0].text == "range \"load\" of process 5 took 65 ms, longer than 50 ms");
  CHECK(found[1].text == "range \"load\" of process 5 took 70 ms, longer than 50 ms");
  CHECK(incidents.look(begin + 30s).empty());
}
