// What a process tells of itself: tables PROCESS and CLOCK.
#include <catch2/catch.hpp>

#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;

TEST_CASE("a process has its place in a job, or none") {
  store::Loader loader = test::make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::hello(2, 200, wire::version,
                          {{"env.RANK", "3"},
                           {"env.WORLD_SIZE", "8"},
                           {"env.LOCAL_RANK", "1"},
                           {"env.MASTER_ADDR", "node1"}}));
  loader.load(test::hello(3, 300, wire::version, {{"env.PMI_RANK", "0"}}));
  loader.finish();
  CHECK(test::rows(loader.database(),
                   "SELECT processId, rank, worldSize, localRank, jobLauncher, job FROM PROCESS") ==
        "100|-|-|-|-|- 200|3|8|1|torch|MASTER_ADDR=node1 300|0|-|-|pmi|-");
  CHECK(test::rows(loader.database(),
                   "SELECT rank, world_size, local_rank, job FROM processes "
                   "WHERE process_id = 200") == "3|8|1|MASTER_ADDR=node1");
}

TEST_CASE("clocks that are not known are NULL") {
  store::Loader loader = test::make_loader();
  loader.load(test::hello(1, 100));
  using Moment = wire::Clock::Moment;
  for (const wire::Clock& clock : {wire::Clock{Moment::first, 1, 2, 3, 0, 0, 0},
                                   wire::Clock{Moment::meanwhile, 11, 12, 13, 14, 15, 16},
                                   wire::Clock{Moment::last, 21, 22, 23, 24, 0, 0}}) {
    wire::Encoder encoder;
    encode(encoder, clock);
    loader.load(test::frame_of(wire::FrameType::clock, 1, encoder));
  }
  loader.finish();
  CHECK(test::rows(loader.database(), "SELECT * FROM CLOCK") ==
        "100|first|1|2|3|-|-|- 100|meanwhile|11|12|13|14|15|16 100|last|21|22|23|24|-|-");
  // The run is from the first to the last, whatever was read between.
  CHECK(test::rows(loader.database(), "SELECT first_realtime, last_realtime FROM processes") ==
        "1|21");
}

TEST_CASE("a sampler is no process of the run, and takes no number from one") {
  store::Loader loader = test::make_loader();
  loader.load(test::hello(1, 50, wire::version, {{wire::role_field, wire::sampler_role}}));
  loader.load(test::table(1, test::tables::runtime));
  wire::Encoder counted;
  encode(counted, std::vector<wire::Statistic>{test::statistic("", "records_received", 7)});
  loader.load(test::frame_of(wire::FrameType::statistics, 1, counted));
  loader.load(test::hello(2, 100));
  loader.load(test::frame_of(wire::FrameType::stream_end, 1, wire::Encoder()));
  loader.load(test::frame_of(wire::FrameType::stream_end, 2, wire::Encoder()));
  CHECK(loader.totals().processes == 1);
  loader.finish();
  CHECK(test::rows(loader.database(), "SELECT processId, number FROM PROCESS") == "100|0");
  CHECK(test::rows(loader.database(),
                   "SELECT value FROM STATISTIC WHERE processId = 50 AND name = "
                   "'records_received'") == "7");
}
