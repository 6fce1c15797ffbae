// PC samples and SASS metrics in the store: they add up, nvprof's tables are made of them, and what
// a stream may not say is left out and counted.
#include <catch2/catch.hpp>

#include "libprof/store/loader.hpp"
#include "libprof/wire/code_values.hpp"
#include "schema/sass_metrics.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using namespace gpuprof::test;

namespace {

using wire::CodeKind;

wire::CodeCounters counters(CodeKind kind) {
  wire::CodeCounters made{.kind = kind, .context = 1, .period = 4096};
  if (kind == CodeKind::pc_samples) {
    made.counters = {{5, "smsp__pcsamp_warps_issue_stalled_barrier", ""},
                     {6, "smsp__pcsamp_warps_issue_stalled_barrier_not_issued", ""},
                     {7, "smsp__pcsamp_warps_issue_stalled_tomorrows", ""}};
  } else {
    made.counters = {{1, std::string(schema::sass::executed), "warps"},
                     {2, std::string(schema::sass::sectors), "sectors"},
                     {3, "smsp__sass_tomorrows", ""}};
  }
  return made;
}

// Values of one instruction.
wire::CodeValues values(CodeKind kind, std::vector<wire::CodeValue> of_one,
                        std::uint32_t correlation = 0) {
  return {
      .kind = kind,
      .context = 1,
      .total = 100,
      .dropped = 1,
      .others = 2,
      .correlation = correlation,
      .functions = {{.cubin = 77, .name = "_Z1fv"}},
      .places = {
          {.function = 1, .correlation = correlation, .offset = 48, .values = std::move(of_one)}}};
}

struct Profile {
  CodeKind kind;
  store::Loader loader{test::empty_profile(), {.live = false}};
  explicit Profile(CodeKind of) : kind(of) { loader.load(hello(1, 100)); }
  template <class Payload>
  void send(wire::FrameType samples, wire::FrameType metrics, const Payload& payload) {
    wire::Encoder encoder;
    wire::encode(encoder, payload);
    loader.load(frame_of(kind == CodeKind::pc_samples ? samples : metrics, 1, encoder));
  }
  void load(const wire::CodeValues& payload) {
    send(wire::FrameType::pc_samples, wire::FrameType::sass_values, payload);
  }
  void load(std::vector<wire::CodeValue> of_one, std::uint32_t correlation = 0) {
    load(values(kind, std::move(of_one), correlation));
  }
  void begin() {
    send(wire::FrameType::pc_sampling, wire::FrameType::sass_metrics, counters(kind));
  }
  std::int64_t number(const std::string& sql) {
    return loader.database().integer(sql).value_or(-1);
  }
  std::int64_t counted(const std::string& name) {
    loader.commit();
    return number("SELECT coalesce(sum(value), 0) FROM STATISTIC WHERE name = '" + name + "'");
  }
};

}  // namespace

TEST_CASE("PC samples of one instruction add up") {
  Profile profile(CodeKind::pc_samples);
  profile.begin();
  profile.load({{5, 10}, {6, 4}, {7, 1}});
  profile.load({{5, 3}});
  CHECK(profile.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING") == 2);
  CHECK(profile.number("SELECT samples FROM pc_samples WHERE stall_reason = 'barrier'") == 13);
  CHECK(profile.number("SELECT not_issued FROM pc_samples WHERE stall_reason = 'barrier'") == 4);
  // A reason that nvprof had no number for is its "other".
  CHECK(profile.number("SELECT stallReason FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING "
                       "WHERE samples = 1") == 11);
  CHECK(profile.number("SELECT totalSamples FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO") ==
        200);
  CHECK(profile.counted("pc_samples") == 200);
  CHECK(profile.counted("pc_samples_dropped") == 2);
  CHECK(profile.counted("frames_malformed") == 0);
  profile.loader.finish();
}

TEST_CASE("PC samples of launches that are distinguished have rows of their own") {
  Profile profile(CodeKind::pc_samples);
  profile.begin();
  profile.load({{5, 10}}, 8);
  profile.load({{5, 20}}, 9);
  CHECK(profile.number("SELECT sum(correlationId * samples) FROM "
                       "CUPTI_ACTIVITY_KIND_PC_SAMPLING") == 8 * 10 + 9 * 20);
  CHECK(profile.number("SELECT totalSamples FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO "
                       "WHERE correlationId = 9") == 21);
}

TEST_CASE("SASS metrics of one instruction add up") {
  Profile profile(CodeKind::sass_metrics);
  profile.begin();
  profile.load({{1, 10}, {2, 40}});
  profile.load({{1, 3}, {3, 5}});
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
  Profile profile(CodeKind::sass_metrics);
  profile.begin();
  profile.load({{1, 10}}, 8);
  profile.load({{1, 20}}, 9);
  profile.loader.finish();
  CHECK(profile.number("SELECT sum(correlationId * executed) FROM "
                       "CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION") == 8 * 10 + 9 * 20);
  CHECK(profile.number("SELECT sum(correlation_id) FROM sass_metrics") == 17);
}

TEST_CASE("contexts whose SASS metrics did not come to their end are counted") {
  for (const bool whole : {false, true}) {
    Profile profile(CodeKind::sass_metrics);
    profile.begin();
    profile.load({{1, 10}});
    if (whole) profile.load({.kind = profile.kind, .context = 1});
    profile.loader.load(frame_of(wire::FrameType::stream_end, 1, wire::Encoder{}));
    CHECK(profile.counted("sass_contexts_lost") == (whole ? 0 : 1));
  }
}

TEST_CASE("values of SASS metrics that are too large are no reason to fail") {
  Profile profile(CodeKind::sass_metrics);
  profile.begin();
  for (int i = 0; i < 3; ++i) profile.load({{1, UINT64_MAX}});
  profile.loader.finish();
  CHECK(profile.number("SELECT executed FROM CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION") ==
        INT64_MAX);
  CHECK(profile.number("SELECT value FROM sass_metrics") == INT64_MAX);
}

TEST_CASE("PC samples and SASS metrics that make no sense are counted") {
  for (const CodeKind kind : {CodeKind::pc_samples, CodeKind::sass_metrics}) {
    Profile profile(kind);
    profile.load({{5, 10}});  // of a context that was never reported
    CHECK(profile.counted("frames_malformed") == 1);
    profile.begin();
    profile.begin();  // twice
    CHECK(profile.counted("frames_malformed") == 2);
    profile.load({{0, 10}, {99, 10}});  // no such counters
    CHECK(profile.counted("stream_limited") == 2);
    CHECK(profile.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING") == 0);
    CHECK(profile.number("SELECT count(*) FROM SASS_VALUE") == 0);
  }
}
