// Snapshots for other launchers of a job: which launchers are of it, and the limits of each.
#include <catch2/catch.hpp>
#include <chrono>
#include <string>
#include <vector>

#include "libprof/record/job_group.hpp"
#include "libprof/record/snapshots.hpp"

using gpuprof::record::JobGroup;
using gpuprof::record::Snapshots;
using namespace std::chrono_literals;

TEST_CASE("launchers of one job") {
  const JobGroup rank0{.id = "a", .rank = 0}, rank1{.id = "a", .rank = 1};
  CHECK(rank0.is_with(rank1));
  CHECK_FALSE(rank0.is_with(rank0));  // variables of a shell
  CHECK_FALSE(rank0.is_with({.id = "b", .rank = 1}));
  CHECK_FALSE(rank0.is_with({.id = "a"}));
  const JobGroup named{.id = "a", .is_named = true};
  CHECK(named.is_with(named));
  CHECK_FALSE(named.is_with(rank1));
  CHECK_FALSE(rank1.is_with(named));
}

TEST_CASE("another launcher's snapshot is one of the limits, and has this run's incidents") {
  std::vector<std::string> notes;
  Snapshots snapshots({.most = 2, .between = 10s},
                      [&](const std::string& text) { notes.push_back(text); });
  const auto begin = Snapshots::Clock::now();
  CHECK(snapshots.refusal(begin).empty());
  CHECK(snapshots.begin_for_another("A", begin) == "A");

  // The same incident, seen here a little later.
  snapshots.add_incident_of_a_job("B", begin + 1s);
  CHECK_FALSE(snapshots.waiting());
  CHECK(notes == std::vector<std::string>{"B: it is in the snapshot that was asked for"});

  // Another one waits, as after a snapshot of this run's own.
  snapshots.add_incident_of_a_job("C", begin + 3s);
  CHECK(snapshots.waiting());
  CHECK_FALSE(snapshots.due(begin + 9s));
  CHECK_FALSE(snapshots.refusal(begin + 9s).empty());
  CHECK(snapshots.begin_for_another("D", begin + 10s) == "D; and here: C");
  CHECK_FALSE(snapshots.waiting());

  CHECK(snapshots.refusal(begin + 60s) ==
        "it has written 2 snapshots, and writes no more (--snapshots)");
  snapshots.add_incident_of_a_job("E", begin + 60s);
  CHECK_FALSE(snapshots.due(begin + 60s));
  CHECK(notes.back() == "E; 2 snapshots were written, no more are (--snapshots)");
}

TEST_CASE("what is tried again at once is no other incident") {
  Snapshots snapshots({.most = 20, .between = 10s}, {});
  const auto begin = Snapshots::Clock::now();
  snapshots.add_incident("no memory", begin);
  CHECK(snapshots.due(begin) == "no memory");
  snapshots.add_incident("no memory", begin + 1s);
  CHECK_FALSE(snapshots.waiting());

  snapshots.add_incident("a long step", begin + 1s);
  snapshots.add_incident("no memory", begin + 3s);
  CHECK(snapshots.due(begin + 10s) == "a long step (and 1 more)");
}

TEST_CASE("moments that another launcher may name") {
  CHECK(Snapshots::Moment::now().is_plausible());
  for (const char* name : {"", "-20261126-17490", "-20261126-1749011", "-2026112a-174901",
                           "x20261126-174901", "-20261126/174901"}) {
    CAPTURE(name);
    CHECK_FALSE(Snapshots::Moment{name, 1}.is_plausible());
  }
  CHECK_FALSE(Snapshots::Moment{"-20261126-174901", 0}.is_plausible());
}
