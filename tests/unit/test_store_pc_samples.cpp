// PC samples in the store: they add up, and what a stream may not say is left out and counted.
#include <catch2/catch.hpp>

#include "libprof/store/loader.hpp"
#include "libprof/wire/pc_samples.hpp"
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

wire::PcSampling sampling(std::uint32_t context) {
  return {.context = context,
          .device = 0,
          .period = 4096,
          .serialized = false,
          .reasons = {{.index = 5, .name = "smsp__pcsamp_warps_issue_stalled_barrier"},
                      {.index = 6, .name = "smsp__pcsamp_warps_issue_stalled_barrier_not_issued"},
                      {.index = 7, .name = "smsp__pcsamp_warps_issue_stalled_tomorrows"}}};
}

wire::PcSamples samples(std::vector<wire::PcCount> counts, std::uint32_t correlation = 0) {
  return {.context = 1,
          .device = 0,
          .total = 100,
          .dropped = 1,
          .others = 2,
          .overflow = false,
          .functions = {{.cubin = 77, .name = "_Z1fv"}},
          .places = {{.function = 1,
                      .correlation = correlation,
                      .offset = 48,
                      .first = 0,
                      .counts = static_cast<std::uint32_t>(counts.size())}},
          .counts = std::move(counts)};
}

struct Profile {
  store::Loader loader{test::empty_profile(), {.live = false}};
  Profile() { loader.load(hello(1, 100)); }
  void load(const wire::PcSamples& payload) {
    loader.load(frame(wire::FrameType::pc_samples, payload));
  }
  void begin() { loader.load(frame(wire::FrameType::pc_sampling, sampling(1))); }
  std::int64_t number(const std::string& sql) {
    loader.commit();
    return loader.database().integer(sql).value_or(-1);
  }
  std::int64_t counted(const std::string& name) {
    return number("SELECT coalesce(sum(value), 0) FROM STATISTIC WHERE name = '" + name + "'");
  }
};

}  // namespace

TEST_CASE("PC samples of one instruction add up") {
  Profile profile;
  profile.begin();
  profile.load(samples({{5, 10}, {6, 4}, {7, 1}}));
  profile.load(samples({{5, 3}}));
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
  Profile profile;
  profile.begin();
  profile.load(samples({{5, 10}}, 8));
  profile.load(samples({{5, 20}}, 9));
  CHECK(profile.number("SELECT sum(correlationId * samples) FROM "
                       "CUPTI_ACTIVITY_KIND_PC_SAMPLING") == 8 * 10 + 9 * 20);
  CHECK(profile.number("SELECT totalSamples FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO "
                       "WHERE correlationId = 9") == 21);
}

TEST_CASE("PC samples that make no sense are counted") {
  Profile profile;
  profile.load(samples({{5, 10}}));  // of a context that was never reported
  CHECK(profile.counted("frames_malformed") == 1);
  profile.begin();
  profile.begin();  // twice
  CHECK(profile.counted("frames_malformed") == 2);
  profile.load(samples({{99, 10}}));  // no such reason
  CHECK(profile.counted("stream_limited") == 1);
  CHECK(profile.number("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING") == 0);
}
