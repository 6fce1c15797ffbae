// STATISTIC: what is counted of streams, and of how rows came.
#include <catch2/catch.hpp>

#include "libprof/store/loader.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using test::BatchBuilder;
using test::kernels;
using test::make_loader;
using test::rows;

TEST_CASE("statistics: later values replace, processes are distinguished, streams of one add up") {
  const auto statistics = [](std::uint32_t stream, std::uint64_t dropped) {
    wire::Encoder encoder;
    encode(encoder, std::vector<wire::Statistic>{{"", "records_dropped_by_cupti", dropped},
                                                 test::statistic("T", "never_heard_of", 1)});
    return test::frame_of(wire::FrameType::statistics, stream, encoder);
  };
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::hello(2, 200));
  loader.load(test::hello(3, 100));  // the first process has become another program
  loader.load(statistics(1, 4));
  loader.load(statistics(1, 5));
  loader.load(statistics(2, 6));
  loader.load(statistics(3, 10));
  loader.count("spilled_bytes", 12);
  loader.commit();
  loader.load(statistics(2, 7));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT processId, value, severity FROM STATISTIC WHERE name = "
             "'records_dropped_by_cupti' ORDER BY 1") == "100|15|data_loss 200|7|data_loss");
  CHECK(rows(loader.database(),
             "SELECT processId, value FROM STATISTIC WHERE name = "
             "'spilled_bytes'") == "0|12");
  CHECK(rows(loader.database(),
             "SELECT DISTINCT severity FROM STATISTIC WHERE name = "
             "'never_heard_of'") == "notice");
}

TEST_CASE("a commit writes the statistics that changed, and no others") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {1, 2}));
  wire::Encoder encoder;
  encode(encoder, std::vector<wire::Statistic>{{"", "slots_exhausted", 0}});
  loader.load(test::frame_of(wire::FrameType::statistics, 1, encoder));
  loader.commit();
  const std::string all = "SELECT name, value FROM STATISTIC ORDER BY name";
  CHECK(rows(loader.database(), all) == "records_received|2 slots_exhausted|0");
  // What stands there now would be written over by one who writes all.
  loader.database().execute("UPDATE STATISTIC SET value = 1000");
  loader.load(kernels(1, {3}));
  loader.load(test::frame_of(wire::FrameType::statistics, 1, encoder));
  loader.commit();
  CHECK(rows(loader.database(), all) == "records_received|1001 slots_exhausted|1000");
  CHECK(loader.totals().records == 3);
}

TEST_CASE("the end of a stream brings what the launcher counted of it") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  wire::Encoder encoder;
  encode(encoder, std::vector<wire::Statistic>{{"", "frames_malformed", 3}});
  loader.load(test::frame_of(wire::FrameType::stream_end, 1, encoder));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT process_id, value, severity FROM losses") == "100|3|error");
  CHECK(loader.totals().missing == 3);
}

TEST_CASE("rows are counted by how they came") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  wire::Encoder packed;
  test::add_kernel(packed, 0, 0, 1, 0);
  test::add_kernel(packed, 5, 6, 2, 0);
  loader.load(kernels(1, {3}));
  loader.load(BatchBuilder().rows(10, 2, packed).frame(1, wire::batch_salvaged));
  loader.load(wire::make_frame(wire::FrameType::stream_end, 1, {}));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT name, value FROM STATISTIC WHERE kind = "
             "'CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL' ORDER BY name") ==
        "records_received|3 records_salvaged|2 records_without_times|1");
  CHECK(rows(loader.database(), "SELECT salvaged, goodbye FROM PROCESS") == "1|0");
  loader.load(wire::make_frame(wire::FrameType::goodbye, 1, {}));
  CHECK(rows(loader.database(), "SELECT goodbye FROM PROCESS") == "1");
}

TEST_CASE("rows that were thrown away on the way are counted, and their strings are there") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  wire::Encoder packed;
  test::add_kernel(packed, 5, 6, 1, 4);
  test::add_kernel(packed, 7, 8, 2, 4);
  const auto thrown_away =
      wire::without_rows(BatchBuilder().strings({{4, "k"}}).rows(10, 2, packed).frame(1));
  REQUIRE(thrown_away);
  loader.load(*thrown_away);
  loader.load(BatchBuilder().rows(10, 2, packed).frame(1));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT s.value FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k "
             "JOIN StringTable AS s ON s._id_ = k.name") == "k k");
  CHECK(rows(loader.database(), "SELECT name, kind, value FROM losses") ==
        "records_discarded|CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL|2");
  CHECK(loader.totals().missing == 2);
  CHECK(loader.totals().records == 2);
  CHECK(!loader.totals().lossless());
}

TEST_CASE("a batch in parts is one batch, and one that lacks a part is counted") {
  const wire::Frame batch = kernels(1, {1, 2, 3}, {{4, "k"}}, 4);
  const auto part = [&](std::uint32_t number, std::uint32_t parts) {
    const std::size_t each = (batch.length + parts - 1) / parts;
    wire::Encoder encoder;
    encoder.integer(wire::BatchPartHeader{number, parts});
    encoder.raw(
        batch.payload().subspan(number * each).first(std::min(each, batch.length - number * each)));
    return test::frame_of(wire::FrameType::batch_part, 1, encoder);
  };
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  for (std::uint32_t number = 0; number < 5; ++number) loader.load(part(number, 5));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k "
             "JOIN StringTable AS s ON s._id_ = k.name") == "k|3");
  CHECK(loader.totals().lossless());

  // The second is missing; what comes behind is read. Then the stream ends in the middle.
  for (const std::uint32_t number : {0, 2}) loader.load(part(number, 3));
  for (const std::uint32_t number : {0, 1}) loader.load(part(number, 2));
  loader.load(part(0, 2));
  loader.load(wire::make_frame(wire::FrameType::stream_end, 1, {}));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT name, value FROM losses") == "frames_malformed|2");
  CHECK(rows(loader.database(), "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ==
        "6");
}
