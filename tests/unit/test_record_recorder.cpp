// Which file gets what.
#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "libprof/record/recorder.hpp"
#include "libprof/wire/capture.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;

namespace {

std::string rows_of(const std::string& path, const std::string& sql) {
  store::Database database(path, store::Database::Mode::read_only);
  return test::rows(database, sql);
}

wire::Frame counted(std::uint32_t stream, std::uint64_t value) {
  wire::Encoder encoder;
  encode(encoder, std::vector<wire::Statistic>{test::statistic("", "records_received", value)});
  return test::frame_of(wire::FrameType::statistics, stream, encoder);
}

}  // namespace

TEST_CASE("with a file per process each has what samplers tell, and its own process alone") {
  const test::TemporaryFolder folder;
  {
    record::Recorder recorder(
        {.output = folder / "run-%p.sqlite", .files = {}, .loader = {}, .capture = {}});
    recorder.take(test::hello(1, 50, wire::version, {{wire::role_field, wire::sampler_role}}));
    recorder.take(test::hello(2, 100));
    recorder.take(counted(1, 7));
    recorder.take(test::hello(3, 200));
    recorder.take(counted(3, 2));
    recorder.take(counted(1, 8));
    for (const std::uint32_t stream : {1, 2, 3}) {
      recorder.take(test::frame_of(wire::FrameType::stream_end, stream, wire::Encoder()));
    }
    recorder.finish();
    CHECK(recorder.files().size() == 2);
    CHECK(recorder.totals().processes == 2);
  }
  const std::string processes = "SELECT processId, number FROM PROCESS";
  const std::string counts =
      "SELECT processId, value FROM STATISTIC WHERE name = 'records_received' ORDER BY 1";
  CHECK(rows_of(folder / "run-100.sqlite", processes) == "100|0");
  CHECK(rows_of(folder / "run-200.sqlite", processes) == "200|0");
  CHECK(rows_of(folder / "run-100.sqlite", counts) == "50|8");
  CHECK(rows_of(folder / "run-200.sqlite", counts) == "50|8 200|2");
}

TEST_CASE("what is computed at the end can be left out in a hurry, and the file says so") {
  for (const std::string_view moment :
       {"pairing NVTX ranges", "computing what follows from the records", "making indexes"}) {
    INFO(moment);
    const test::TemporaryFolder folder;
    bool hurried = false;
    {
      record::Recorder recorder(
          {.output = folder / "run.sqlite",
           .files = {},
           .loader = {.hurried = [&] { return hurried; },
                      .progress = [&](std::string_view what) { hurried |= what == moment; }},
           .capture = {}});
      wire::CaptureReader capture(std::string(GPUPROF_SOURCE_DIR) +
                                  "/tests/captures/torch_step.gpcap");
      for (wire::Frame frame; capture.next(frame);) recorder.take(std::move(frame));
      recorder.finish();
    }
    CHECK(hurried);
    const std::string path = folder / "run.sqlite";
    CHECK(rows_of(path, "PRAGMA integrity_check") == "ok");
    CHECK(rows_of(path, "SELECT value FROM RUN WHERE key = 'finished'") == "0");
    const std::string left_out = rows_of(path, "SELECT value FROM RUN WHERE key = 'not_computed'");
    CHECK(left_out.ends_with("indexes"));
    const bool paired = rows_of(path, "SELECT count(*) FROM NVTX_RANGE") != "0";
    CHECK(left_out.starts_with("NVTX ranges, ") != paired);
    CHECK(rows_of(path, "SELECT count(*) FROM LAUNCH_RANGE") == "0");
    CHECK(rows_of(path, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'INDEX_%KERNEL'") ==
          "0");
  }
}
