// Reading files of other tools: what does not show in the profiles that tests/cli/test_import.py
// makes.
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "libprof/exchange/import/frames.hpp"
#include "libprof/exchange/import/mended_json.hpp"
#include "libprof/exchange/import/nsys_rows.hpp"
#include "libprof/exchange/import/tally.hpp"
#include "libprof/exchange/import/trace_events.hpp"
#include "schema/activity/all.hpp"

namespace importing = gpuprof::importing;
namespace wire = gpuprof::wire;

TEST_CASE("import: times are read by their digits") {
  using importing::nanoseconds;
  CHECK(nanoseconds("12") == 12000);
  CHECK(nanoseconds("12.345") == 12345);
  CHECK(nanoseconds("12.3") == 12300);
  CHECK(nanoseconds("0.0009") == 0);
  CHECK(nanoseconds("-1.5") == -1500);
  CHECK(nanoseconds("1700000000000001.125") == 1700000000000001125);
  CHECK(nanoseconds("1.5e3") == 1500000);
  for (const char* none : {"", "-", ".", "1e", "x", "1e999", "99999999999999999999", "1e300"}) {
    INFO(none);
    CHECK(!nanoseconds(none));
  }
}

namespace {

// As a reader gets it that takes `block` bytes at a time.
std::string mended(const std::string& text, std::size_t block, std::uint64_t texts) {
  importing::JsonMender mender;
  std::string done, rest;
  for (std::size_t at = 0; at < text.size() || !rest.empty(); at += block) {
    rest += at < text.size() ? text.substr(at, block) : "";
    const std::size_t size = mender.mend(rest, at + block >= text.size());
    done += rest.substr(0, size);
    rest.erase(0, size);
  }
  CHECK(mender.texts() == texts);
  CHECK_FALSE(mender.too_long());
  return done;
}

}  // namespace

TEST_CASE("import: JSON is mended without changing its length, wherever blocks end") {
  struct Case {
    std::string text, mended;
    std::uint64_t texts = 0;
  };
  const Case cases[] = {
      {R"([1, -2.5e3, true, null, "a", {"b": "c\"d"}])",
       R"([1, -2.5e3, true, null, "a", {"b": "c\"d"}])"},
      {"[NaN,-Infinity, inf ,1e400,1e-400]", "[\"\" ,\"\"       , \"\"  ,\"\"   ,1e-400]"},
      {"[nano, NaNs, 1e40, \"NaN\"]", "[nano, NaNs, 1e40, \"NaN\"]"},
      {"NaN", "\"\" "},
      {"[\"a\xff\xc3\xa9\xe2\x82\"]", "[\"a?\xc3\xa9??\"]", 1},
      {"[\"\xed\xa0\x80\", \"\xf0\x9f\x98\x80\"]", "[\"???\", \"\xf0\x9f\x98\x80\"]", 1},
      {R"(["\ud83d","\ud83d\ude00","\ude00x","\ud83d\u0041"])",
       R"(["\ufffd","\ud83d\ude00","\ufffdx","\ufffd\u0041"])", 3},
      {"[\"a\tb\nc\"]", "[\"a b c\"]", 1},
      {"\xef\xbb\xbf{}", "\xef\xbb\xbf{}"},
      {"[\"\\ud83d", "[\"\\ufffd", 1},
  };
  for (const Case& each : cases) {
    for (std::size_t block = 1; block < 40; ++block) {
      INFO(each.text << " by " << block);
      CHECK(mended(each.text, block, each.texts) == each.mended);
    }
  }
  importing::JsonMender mender;
  std::string endless(importing::JsonMender::longest_word + 2, '1');
  mender.mend(endless, false);
  CHECK(mender.too_long());
}

TEST_CASE("import: a UUID is 16 bytes or none") {
  CHECK(importing::uuid_bytes("GPU-00010203-0405-0607-0809-0a0b0c0d0eff").size() == 16);
  CHECK(importing::uuid_bytes("000102030405060708090a0b0c0d0eff").back() == '\xff');
  for (const char* none :
       {"", "GPU-", "GPU-00", "0001020304050607 8090a0b0c0d0eff",
        "000102030405060708090a0b0c0d0eff00", "0001020304050607xx090a0b0c0d0eff"}) {
    INFO(none);
    CHECK(importing::uuid_bytes(none).empty());
  }
}

TEST_CASE("import: what is left out is listed by few names") {
  importing::Tally tally;
  for (int i = 0; i < 1000; ++i) tally.add("kind " + std::to_string(i));
  tally.add(std::string(10'000, '\x1b'));
  CHECK(tally.total() == 1001);
  CHECK(tally.text().size() < 2000);
  CHECK(tally.text().find('\x1b') == std::string::npos);
  CHECK(tally.text().find("969 of others") != std::string::npos);
}

TEST_CASE("import: values that do not fit their column stay NULL") {
  const auto layout = importing::Layout::of<gpuprof::schema::Memcpy>(
      {"copyKind", "bytes", "streamId", "correlationId"});
  std::vector<wire::Frame> frames;
  importing::FrameWriter writer([&](wire::Frame frame) { frames.push_back(std::move(frame)); });
  importing::Process& process = *writer.process(7);
  {
    importing::ImportedRow row = process.add(layout);
    CHECK(row.set(0, 254));
    CHECK(!row.set(0, 255));  // stands for NULL
    CHECK(!row.set(0, -1));
    CHECK(!row.set(1, -1));
    CHECK(row.set(1, INT64_MAX));
    CHECK(row.set(2, UINT32_MAX));  // none
    CHECK(!row.set(2, std::int64_t{1} << 32));
    CHECK(row.set(3, INT32_MAX));
    CHECK(!row.set(3, std::int64_t{1} << 31));
    CHECK(!row.set(3, -1));
  }
  writer.finish();
  REQUIRE(frames.size() == 4);  // hello, table, batch, end
  const auto batch = wire::decode_batch(frames[2].payload());
  REQUIRE(batch);
  REQUIRE(batch->blocks.size() == 1);
  CHECK(batch->blocks[0].bytes.size() == 1 + 8 + 4 + 4);
  CHECK(wire::load<std::uint32_t>(batch->blocks[0].bytes.data() + 9) == UINT32_MAX);
}

TEST_CASE("import: functions keep the numbers that are theirs") {
  std::vector<wire::Frame> frames;
  importing::FrameWriter writer([&](wire::Frame frame) { frames.push_back(std::move(frame)); });
  importing::Process& process = *writer.process(7);
  CHECK(writer.callback_id(process, true, "cudaLaunchKernel_v7000") == 211);  // nvprof's
  CHECK(writer.callback_id(process, true, "cudaLaunchKernel_v7000", 5) == 211);
  CHECK(writer.callback_id(process, true, "cudaNew", 900) == 900);
  const auto own = writer.callback_id(process, true, "cudaNewer", 900);  // is another's
  CHECK(own >= 32768);
  CHECK(writer.callback_id(process, true, "cudaNewest", -1) != own);
  CHECK(writer.callback_id(process, false, "cuNew", 900) == 900);
  CHECK(writer.callback_id(process, true, "") == 0);
  CHECK(writer.callback_id(process, true, std::string(1000, 'x')) == 0);
}
