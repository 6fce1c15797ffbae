// Which file gets what.
#include <catch2/catch.hpp>
#include <string>

#include "libprof/record/recorder.hpp"
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
