// SASS metrics in the store: what nvprof's tables get, and what a stream may not say.
#include <catch2/catch.hpp>

#include "libprof/store/loader.hpp"
#include "libprof/wire/sass_metrics.hpp"
#include "schema/sass_metrics.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using namespace gpuprof::test;

namespace {

template <class Payload>
wire::Frame frame(wire::FrameType type, const Payload& payload) {
  wire::Encoder encoder;
  wire::encode(encoder, payload);
  return frame_of(type, 1, encoder);
}

wire::SassMetrics metrics() {
  return {.context = 1,
          .device = 0,
          .metrics = {{std::string(schema::sass::executed), "warps"},
                      {std::string(schema::sass::sectors), "sectors"},
                      {"smsp__sass_tomorrows", ""}}};
}

wire::SassValues values(std::vector<wire::SassValue> of_one, std::uint32_t correlation = 0) {
  return {.context = 1,
          .correlation = correlation,
          .functions = {{.cubin = 77, .name = "_Z1fv"}},
          .places = {{.function = 1,
                      .offset = 48,
                      .first = 0,
                      .count = static_cast<std::uint32_t>(of_one.size())}},
          .values = std::move(of_one)};
}

struct Profile {
  store::Loader loader{test::empty_profile(), {.live = false}};
  Profile() { loader.load(hello(1, 100)); }
  void load(const wire::SassValues& payload) {
    loader.load(frame(wire::FrameType::sass_values, payload));
  }
  void begin() { loader.load(frame(wire::FrameType::sass_metrics, metrics())); }
  std::int64_t number(const std::string& sql) {
    return loader.database().integer(sql).value_or(-1);
  }
  std::int64_t counted(const std::string& name) {
    loader.commit();
    return number("SELECT coalesce(sum(value), 0) FROM STATISTIC WHERE name = '" + name + "'");
  }
};

}  // namespace

TEST_CASE("SASS metrics of one instruction add up") {
  Profile profile;
  profile.begin();
  profile.load(values({{1, 10}, {2, 40}}));
  profile.load(values({{1, 3}, {3, 5}}));
  profile.loader.finish();
  CHECK(profile.number("SELECT value FROM sass_metrics WHERE metric = 'inst_executed'") == 13);
  CHECK(profile.number("SELECT value FROM sass_metrics WHERE metric = 'tomorrows'") == 5);
  CHECK(profile.number("SELECT executed FROM CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION") == 13);
  CHECK(profile.number("SELECT l2_transactions * 100 + pcOffset FROM "
                       "CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS") == 4048);
  CHECK(profile.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_SHARED_ACCESS") == 0);
  CHECK(profile.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_BRANCH") == 0);
}

TEST_CASE("SASS metrics of launches that are distinguished have rows of their own") {
  Profile profile;
  profile.begin();
  profile.load(values({{1, 10}}, 8));
  profile.load(values({{1, 20}}, 9));
  profile.loader.finish();
  CHECK(profile.number("SELECT sum(correlationId * executed) FROM "
                       "CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION") == 8 * 10 + 9 * 20);
  CHECK(profile.number("SELECT sum(correlation_id) FROM sass_metrics") == 17);
}

TEST_CASE("contexts whose SASS metrics did not come to their end are counted") {
  for (const bool whole : {false, true}) {
    Profile profile;
    profile.begin();
    profile.load(values({{1, 10}}));
    if (whole)
      profile.load({.context = 1, .correlation = 0, .functions = {}, .places = {}, .values = {}});
    profile.loader.load(frame_of(wire::FrameType::stream_end, 1, wire::Encoder{}));
    CHECK(profile.counted("sass_contexts_lost") == (whole ? 0 : 1));
  }
}

TEST_CASE("values of SASS metrics that are too large are no reason to fail") {
  Profile profile;
  profile.begin();
  for (int i = 0; i < 3; ++i) profile.load(values({{1, UINT64_MAX}}));
  profile.loader.finish();
  CHECK(profile.number("SELECT executed FROM CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION") ==
        INT64_MAX);
  CHECK(profile.number("SELECT value FROM sass_metrics") == INT64_MAX);
}

TEST_CASE("SASS metrics that make no sense are counted") {
  Profile profile;
  profile.load(values({{1, 10}}));  // of a context that was never reported
  CHECK(profile.counted("frames_malformed") == 1);
  profile.begin();
  profile.begin();  // twice
  CHECK(profile.counted("frames_malformed") == 2);
  profile.load(values({{0, 10}, {4, 10}}));  // no such metrics
  CHECK(profile.counted("stream_limited") == 2);
  CHECK(profile.number("SELECT count(*) FROM SASS_VALUE") == 0);
}
