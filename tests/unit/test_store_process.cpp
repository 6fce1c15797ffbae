// What streams report of the run and its processes: tables RUN, PROCESS and CLOCK.
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

TEST_CASE("what is known of the run and its processes") {
  store::Loader loader = test::make_loader();
  loader.load(test::fields_frame(wire::FrameType::run, wire::run_stream,
                                 {{"host_name", "h"},
                                  {"cpu_count", "64"},
                                  {"working_directory", "-"},
                                  {"command_line", "99999999999999999999"},
                                  {"t0_realtime_ns", "-5"},
                                  {"never_heard_of", "1"}}));
  loader.load(test::hello(1, 100));
  loader.load(test::fields_frame(wire::FrameType::info, 1,
                                 {{"cupti_version", "130500"}, {"cupti_path", "/libcupti.so"}}));
  loader.load(test::fields_frame(wire::FrameType::info, 1, {{"driver_version", "13000"}}));
  loader.commit();
  store::Database& database = loader.database();
  CHECK(test::rows(database,
                   "SELECT value, typeof(value) FROM RUN WHERE key NOT IN ('finished', "
                   "'schema_version') ORDER BY key") ==
        "99999999999999999999|text 64|integer h|text -5|integer -|text");
  CHECK(test::rows(database,
                   "SELECT processId, parentProcessId, executable, command_line, "
                   "cupti_version, cupti_path, driver_version FROM PROCESS") ==
        "100|1|/bin/app|app --fast|130500|/libcupti.so|13000");
  CHECK(test::rows(database, "SELECT value FROM RUN WHERE key = 'finished'") == "0");
  loader.finish();
  CHECK(test::rows(database, "SELECT value FROM RUN WHERE key = 'finished'") == "1");
}

TEST_CASE("calls that were left out by one process are left out of the file") {
  store::Loader loader = test::make_loader();
  const auto told = [&](std::uint32_t stream, const char* functions) {
    loader.load(test::fields_frame(wire::FrameType::info, stream, {{"calls_left_out", functions}}));
    loader.commit();
    return test::rows(loader.database(), "SELECT value FROM RUN WHERE key = 'calls_left_out'");
  };
  loader.load(test::hello(1, 100));
  CHECK(test::rows(loader.database(), "SELECT 1 FROM RUN WHERE key = 'calls_left_out'") == "");
  CHECK(told(1, "none") == "none");
  loader.load(test::hello(2, 200));
  CHECK(told(2, "cuCtxGetCurrent,cudaGetDevice") == "cuCtxGetCurrent,cudaGetDevice");
  loader.load(test::hello(3, 300));
  CHECK(told(3, "none") == "cuCtxGetCurrent,cudaGetDevice");
}

TEST_CASE("a file's own state, and other processes, are not told by a stream") {
  store::Loader loader = test::make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::hello(2, 200));
  const auto forged = [](std::uint32_t stream) {
    return test::fields_frame(wire::FrameType::run, stream,
                              {{"schema_version", "999"},
                               {"finished", "1"},
                               {"loss", "0"},
                               {"derived_from", "me"},
                               {"host_name", "h"},
                               {"target_process_id", "100"},
                               {"exit_status", "77"}});
  };
  loader.load(forged(2));
  loader.commit();
  const std::string told = "SELECT key, value FROM RUN ORDER BY key";
  CHECK(test::rows(loader.database(), told) == "finished|0 schema_version|1");
  CHECK(test::rows(loader.database(), "SELECT exit_status FROM PROCESS WHERE processId = 100") ==
        "-");
  CHECK(test::rows(loader.database(),
                   "SELECT processId, value FROM STATISTIC WHERE name = 'frames_malformed'") ==
        "200|1");
  loader.load(forged(wire::run_stream));
  loader.commit();
  CHECK(test::rows(loader.database(), told) ==
        "exit_status|77 finished|0 host_name|h schema_version|1 target_process_id|100");
  CHECK(test::rows(loader.database(), "SELECT exit_status FROM PROCESS WHERE processId = 100") ==
        "77");
}
