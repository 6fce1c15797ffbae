// What is measured and when a window ends, with a made-up clock and without CUPTI.
#include <catch2/catch.hpp>

#include <memory>
#include <thread>
#include <vector>

#include "libprof/collect/policy.hpp"
#include "libprof/collect/user_ranges.hpp"

using namespace gpuprof;
using namespace gpuprof::collect;

namespace {

constexpr std::int64_t ms = 1'000'000;
constexpr double first_start_us = 100'000;

using Samples = std::vector<std::uint32_t>;

// A context of chip GH100, and what RangeProfiler would do with its policy.
struct Context {
  std::int64_t clock = 1'000'000 * ms;
  wire::CollectConfig config;
  std::unique_ptr<Budget> budget;
  std::unique_ptr<Policy> policy;
  Window window;

  explicit Context(wire::ReplayMode mode) {
    config.mode = mode;
    config.batch = 8;
    config.grows = true;
    config.overhead_permille = 100;
    config.samples = 8;
    config.scopes.resize(1);
    group(100, 10'000);
  }

  wire::CollectGroup& group(double launch_us, double switch_us, std::uint32_t scope = 0,
                            const char* chip = "GH100") {
    wire::CollectGroup& group = config.groups.emplace_back();
    group.id = static_cast<std::uint32_t>(config.groups.size());
    group.chip = chip;
    group.scope = scope;
    group.passes = 1;
    group.launch_us = launch_us;
    group.switch_us = switch_us;
    return group;
  }

  void make() {
    budget = std::make_unique<Budget>([this] { return clock; }, first_start_us,
                                      config.overhead_permille);
    policy = Policy::make(config, "GH100", *budget);
  }

  Decision decide(const Samples& samples, std::uint32_t scope = 0) {
    return policy->decide(scope, samples, window);
  }

  // Begins a window as decided, which takes so long.
  void begin(const Decision& decision, std::int64_t ns) {
    REQUIRE(decision.group >= 0);
    const bool first = decision.release || !window.enabled || window.group != decision.group;
    clock += ns;
    budget->spend(ns);
    if (first) budget->first_start_took(ns);
    policy->begun(ns, first);
    window = {decision.group, true, true};
  }

  // One launch that is measured in the open window.
  void measure(Samples& samples, std::int64_t ns = ms / 10) {
    clock += ns;
    policy->measured(window.group, ns);
    policy->sampled(window.group, samples);
  }
};

// A multiplexing context with two groups, where measuring may cost a tenth of the time.
struct Multiplex : Context {
  Samples samples{0, 0};

  Multiplex() : Context(wire::ReplayMode::multiplex) {
    group(100, 10'000);
    make();
  }

  // Until the policy measures again, in steps of a millisecond.
  Decision wait(std::int64_t most_ms) {
    for (std::int64_t i = 0; i < most_ms; ++i) {
      clock += ms;
      const Decision decision = decide(samples);
      if (decision.group >= 0) return decision;
    }
    return {};
  }
};

}  // namespace

TEST_CASE("application replay measures each launch that is asked for") {
  Context context(wire::ReplayMode::application);
  context.group(100, 10'000, 1);
  context.group(100, 10'000, 2, "GA100");
  context.config.scopes.resize(3);
  context.make();
  const Samples samples(3);
  CHECK(context.decide(samples, 0).group == 0);
  CHECK(context.decide(samples, 1).group == 1);
  // No group for this chip: maybe the next scope has one.
  CHECK(context.decide(samples, 2).group < 0);
  CHECK_FALSE(context.policy->decides_for_all_scopes());
  CHECK_FALSE(context.decide(samples, 0).release);
}

TEST_CASE("application replay leaves a window when what lies between cost as much as a switch") {
  Context context(wire::ReplayMode::application);
  context.make();
  const wire::CollectGroup& group = context.config.groups[0];
  // A switch costs a hundred launches.
  for (int i = 0; i < 100; ++i) REQUIRE_FALSE(context.policy->leaves(group));
  CHECK(context.policy->leaves(group));
  // A launch that is asked for begins the count anew.
  REQUIRE(context.decide({0}).group == 0);
  for (int i = 0; i < 100; ++i) REQUIRE_FALSE(context.policy->leaves(group));
  CHECK(context.policy->leaves(group));
  CHECK_FALSE(context.policy->keeps(0, Samples{0}));
}

TEST_CASE("application replay takes larger images once they have been paid for") {
  Context context(wire::ReplayMode::application);
  context.make();
  const wire::CollectGroup& group = context.config.groups[0];
  CHECK(context.policy->batch(group) == 8);
  int images = 0;
  while (!context.policy->grows(group, 8)) REQUIRE(++images < 1000);
  // A first Start of four times the ranges takes 200.8 ms; an image saves three quarters of 10 ms.
  CHECK(images + 1 == 27);
  CHECK(context.policy->batch(group) == 32);
  while (!context.policy->grows(group, 32)) REQUIRE(++images < 1000);
  CHECK(context.policy->batch(group) == 128);
  for (int i = 0; i < 1000; ++i) REQUIRE_FALSE(context.policy->grows(group, 128));
}

TEST_CASE("images of several passes do not grow, nor those that are not to") {
  Context context(wire::ReplayMode::application);
  context.config.groups[0].passes = 2;
  context.make();
  for (int i = 0; i < 1000; ++i) REQUIRE_FALSE(context.policy->grows(context.config.groups[0], 8));
  context.config.groups[0].passes = 1;
  context.config.grows = false;
  for (int i = 0; i < 1000; ++i) REQUIRE_FALSE(context.policy->grows(context.config.groups[0], 8));
}

TEST_CASE("passes of several runs have the same windows in each") {
  Context context(wire::ReplayMode::application);
  context.make();
  wire::CollectGroup group = context.config.groups[0];
  CHECK_FALSE(context.policy->takes_runs(group));
  CHECK(context.policy->may_send_early(group));
  group.passes = 2;
  CHECK(context.policy->takes_runs(group));
  CHECK_FALSE(context.policy->may_send_early(group));
}

TEST_CASE("kernel replay leaves a window at once, and makes all passes in one run") {
  Context context(wire::ReplayMode::kernel);
  context.config.groups[0].passes = 4;
  context.make();
  const wire::CollectGroup& group = context.config.groups[0];
  CHECK(context.decide({0}).group == 0);
  CHECK(context.policy->leaves(group));
  CHECK_FALSE(context.policy->takes_runs(group));
  CHECK(context.policy->may_send_early(group));
  CHECK(context.policy->batch(group) == 8);
  CHECK_FALSE(context.policy->grows(group, 8));
}

TEST_CASE("a window of the program's own ranges stays open and waits until it is full") {
  Context context(wire::ReplayMode::range);
  context.make();
  const wire::CollectGroup& group = context.config.groups[0];
  CHECK(context.policy->group_of_scope(0) == 0);
  CHECK_FALSE(context.policy->leaves(group));
  CHECK_FALSE(context.policy->may_send_early(group));
  CHECK_FALSE(context.policy->grows(group, 8));
}

TEST_CASE("of ranges inside one another the outermost that is wanted is measured") {
  OpenRanges ranges;
  const auto here = std::this_thread::get_id();
  const std::thread::id elsewhere;
  CHECK_FALSE(ranges.push(here, false));
  CHECK(ranges.push(here, true));
  CHECK(ranges.open() == 1);
  CHECK_FALSE(ranges.push(here, true));
  CHECK_FALSE(ranges.push(elsewhere, true));
  CHECK_FALSE(ranges.pop(elsewhere));
  CHECK_FALSE(ranges.pop(here));
  CHECK(ranges.open() == 1);
  CHECK(ranges.pop(here));
  CHECK(ranges.open() == 0);
  CHECK_FALSE(ranges.pop(here));
  // One that was never opened.
  CHECK_FALSE(ranges.pop(here));
  CHECK(ranges.push(elsewhere, true));
  CHECK(ranges.open() == 2);
}

TEST_CASE("a range from cudaProfilerStart to Stop is measured once") {
  OpenRanges ranges;
  CHECK_FALSE(ranges.end());
  CHECK(ranges.begin());
  CHECK_FALSE(ranges.begin());
  CHECK(ranges.end());
  CHECK_FALSE(ranges.end());
}

TEST_CASE("multiplexing saves for its first window") {
  Multiplex context;
  CHECK(context.policy->decides_for_all_scopes());
  CHECK(context.decide(context.samples).group < 0);
  // A first Start of 100 ms is a tenth of a second's work.
  CHECK(context.wait(999).group < 0);
  const Decision decision = context.wait(1);
  CHECK(decision.group == 0);
  CHECK(decision.release);
}

TEST_CASE("multiplexing never spends more than its budget before it begins a window") {
  Multiplex context;
  const std::int64_t began = context.clock;
  std::int64_t spent = 0;
  int windows = 0;
  for (int i = 0; i < 200'000; ++i) {
    context.clock += ms / 10;
    Decision decision = context.decide(context.samples);
    if (decision.release) context.window = {context.window.group, false, false};
    if (decision.group < 0) continue;
    const bool first = decision.release || !context.window.enabled;
    const std::int64_t price = first ? 100 * ms : 10 * ms;
    // Of the time without measuring, a tenth.
    REQUIRE((context.clock - began - spent) / 10 >= spent + price);
    context.begin(decision, price);
    spent += price;
    ++windows;
    for (int j = 0; j < 4; ++j) {
      context.measure(context.samples, ms / 10);
      spent += ms / 10;
      if (context.decide(context.samples).group < 0) break;
    }
    context.window.open = false;
    // Shapes never end in this program.
    if (windows % 4 == 0) context.samples = {0, 0};
  }
  CHECK(windows > 5);
  CHECK(context.budget->spent_permille() <= 100);
}

TEST_CASE("multiplexing gives each group four samples of a shape, then the rest") {
  Multiplex context;
  std::vector<int> order;
  for (int i = 0; i < 200'000 && context.samples != Samples{8, 8}; ++i) {
    context.clock += ms;
    const Decision decision = context.decide(context.samples);
    if (decision.release) context.window = {context.window.group, false, false};
    if (decision.group < 0) continue;
    context.begin(decision, 10 * ms);
    do {
      order.push_back(context.window.group);
      context.measure(context.samples);
    } while (context.decide(context.samples).group >= 0);
    context.window.open = false;
  }
  REQUIRE(context.samples == Samples{8, 8});
  const std::vector<int> first(order.begin(), order.begin() + 8);
  CHECK(first == std::vector{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(order.size() == 16);
}

TEST_CASE("multiplexing stays with a group until the phase has cost three first starts") {
  Multiplex context;
  context.config.samples = 1000;
  context.samples = {0, 0};
  Decision decision = context.wait(2000);
  REQUIRE(decision.group == 0);
  context.begin(decision, 100 * ms);
  context.measure(context.samples);
  context.window.open = false;
  // The other group has seen it less often, and waits.
  context.clock += 100'000 * ms;
  decision = context.decide(context.samples);
  CHECK(decision.group == 0);
  CHECK_FALSE(decision.release);
  context.begin(decision, 201 * ms);
  context.window.open = false;
  decision = context.decide(context.samples);
  CHECK(decision.group == 1);
  CHECK(decision.release);
  // Which begins a phase of its own.
  context.begin(decision, 100 * ms);
  context.window.open = false;
  context.clock += 100'000 * ms;
  decision = context.decide({1, 2});
  CHECK(decision.group == 1);
  CHECK_FALSE(decision.release);
}

TEST_CASE("multiplexing keeps the profiler object of an only group") {
  Multiplex context;
  context.config.groups.pop_back();
  for (const std::int64_t cost_ms : {100, 201}) {
    context.begin(context.wait(10'000), cost_ms * ms);
    context.window.open = false;
    context.clock += 100'000 * ms;
  }
  const Decision decision = context.decide({0});
  CHECK(decision.group == 0);
  CHECK_FALSE(decision.release);
}

TEST_CASE(
    "multiplexing gives a group up that has needed nothing for as long as a start takes to earn") {
  Multiplex context;
  Decision decision = context.wait(2000);
  REQUIRE(decision.group == 0);
  context.begin(decision, 100 * ms);
  context.window.open = false;
  context.samples = {8, 8};
  int launches = 0;
  do {
    context.clock += ms;
    REQUIRE(++launches < 100'000);
    decision = context.decide(context.samples);
    // Nothing is needed for 1 s, and each 64th launch looks at the clock. Others may need more than
    // the first four, and are given twice that time.
    REQUIRE(decision.group < 0);
  } while (!decision.release);
  CHECK(launches > 2000);
  // A shape that is new is measured again.
  context.window.enabled = false;
  CHECK(context.decide({0, 8}).group == 0);
}

TEST_CASE("an open window takes what the group needs, and leaves the rest by its price") {
  Multiplex context;
  context.begin(context.wait(2000), 100 * ms);
  CHECK(context.decide({3, 0}).group == 0);
  CHECK(context.decide({4, 0}).group < 0);
  // What is measured on the way is kept as long as it is of use.
  CHECK(context.policy->keeps(0, Samples{7, 0}));
  CHECK_FALSE(context.policy->keeps(0, Samples{8, 0}));
  const wire::CollectGroup& group = context.config.groups[0];
  for (int i = 0; i < 100; ++i) REQUIRE_FALSE(context.policy->leaves(group));
  CHECK(context.policy->leaves(group));
}

TEST_CASE("images under multiplexing hold as many launches as cost what a switch does") {
  Multiplex context;
  CHECK(context.policy->batch(context.config.groups[0]) == 100);
  context.config.groups[0].launch_us = 1;
  CHECK(context.policy->batch(context.config.groups[0]) == 512);
  context.config.groups[0].launch_us = 10'000;
  CHECK(context.policy->batch(context.config.groups[0]) == 8);
  context.config.grows = false;
  context.config.groups[0].launch_us = 1;
  CHECK(context.policy->batch(context.config.groups[0]) == 8);
}

TEST_CASE("multiplexing takes the passes of a sample from launches of one shape") {
  Multiplex context;
  wire::CollectGroup& group = context.config.groups[0];
  group.passes = 8;
  CHECK(context.policy->takes_launches(group));
  CHECK_FALSE(context.policy->takes_runs(group));
  CHECK_FALSE(context.policy->takes_launches(context.config.groups[1]));
  CHECK(context.policy->batch(group) == 1);
  context.begin(context.wait(2000), 100 * ms);
  context.window.open = false;
  // It begins once it can afford all of them: eight switches and launches, 80.8 ms.
  const std::int64_t begin = context.clock;
  REQUIRE(context.wait(10'000).group == 0);
  CHECK(context.clock - begin >= 800 * ms);
  CHECK_FALSE(context.policy->stops_waiting(context.clock - 2000 * ms));
  CHECK(context.policy->stops_waiting(context.clock - 2001 * ms));
}

TEST_CASE("groups for other chips are not for this one") {
  Multiplex context;
  context.config.groups[0].chip = "GA100";
  const Decision decision = context.wait(2000);
  CHECK(decision.group == 1);
}
