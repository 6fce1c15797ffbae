// --trigger: which words are one.
#include <catch2/catch.hpp>
#include <chrono>

#include "libprof/record/trigger.hpp"
#include "schema/step_names.hpp"

using gpuprof::record::Trigger;
using gpuprof::schema::without_number;
using namespace std::chrono_literals;

TEST_CASE("limits of triggers") {
  CHECK(Trigger::parsed("step>50ms")->longest == 50ms);
  CHECK(Trigger::parsed("range:a>1.5s")->longest == 1500ms);
  CHECK(Trigger::parsed("range:a>b>20us")->what == "a>b");
  CHECK(Trigger::parsed("step>2.5x")->times == 2.5);
  CHECK(Trigger::parsed("idle")->longest == 30s);
  CHECK(Trigger::parsed("idle:2min")->longest == 2min);
  CHECK(Trigger::parsed("sql: SELECT 1 ")->what == "SELECT 1");
  for (const char* wrong :
       {"",          "step",      "step>",      "step>3",    "step>0ms", "step>-1s", "step>1x",
        "step>nanx", "step>infs", "step>1e99s", "range:>1s", "range:a",  "a>1s",     "idle:",
        "idle:10",   "idle:0.5s", "idle>10s",   "sql:",      "sql: ",    "oom:1",    "OOM"}) {
    CAPTURE(wrong);
    CHECK_FALSE(Trigger::parsed(wrong));
  }
}

TEST_CASE("ranges that a trigger is about") {
  const Trigger trigger = *Trigger::parsed("range:step>3x");
  for (const char* name : {"step", "step 12", "step#7", "step_1"}) CHECK(trigger.is_about(name));
  for (const char* name : {"", "steps", "my step", "12"}) CHECK_FALSE(trigger.is_about(name));
  CHECK(Trigger::parsed("range:*>3x")->is_about("any"));
  CHECK(Trigger::parsed("range:layer 3>3x")->is_about("layer 3"));
  CHECK_FALSE(Trigger::parsed("step>3x")->is_about("step"));
  CHECK(without_number("12") == "12");
}
