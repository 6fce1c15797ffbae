// The stand-in's range profiler, from launches of the stand-in driver to values.
#include <cupti.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>

#include "tests/fake_cupti/profiler_session.hpp"

namespace {

constexpr const char* ctas = "sm__ctas_launched.sum";

int launch(std::uint32_t blocks, const char* name = "kernel", LaunchBy by = LaunchBy::driver) {
  return CUDA(fake_launch_shape)(by, name, {.grid = {blocks, 1, 1}});
}

}  // namespace

TEST_CASE("stand-in: each launch is a range, with values of the launch") {
  const Session cupti;
  Profiler profiler(
      cupti, {ctas, "sm__ctas_launched.avg", "smsp__inst_executed.sum", "dram__bytes_read.sum",
              "gpu__time_duration.sum", "dram__bytes_read.sum.per_second",
              "sm__warps_active.avg.pct_of_peak_sustained_active"});
  CUDA(fake_kernel_time)(2000);
  launch(99);
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  launch(99);
  REQUIRE(profiler.start() == CUPTI_SUCCESS);
  CUDA(fake_launch_shape)(LaunchBy::runtime, "first", {.grid = {2, 3, 4}, .block = {33, 1, 1}});
  launch(5, "second", LaunchBy::driver_ex);
  launch(6, "third", LaunchBy::driver_cooperative);
  launch(7, "fourth", LaunchBy::runtime_cooperative);
  CHECK(CUDA(fake_launch_shape)(LaunchBy::driver, "no", {.block = {1024, 2, 1}}) == 1);
  CUDA(fake_graph_launch)("node", 2);
  REQUIRE(profiler.stop() == CUPTI_SUCCESS);
  CHECK(profiler.all_submitted);
  launch(99);
  CHECK(profiler.decode() == 0);
  CHECK(profiler.names() == std::vector<std::string>{"0", "1", "2", "3", "4", "5"});
  CHECK(profiler.values(0) ==
        std::vector<double>{24, 6, 24 * 2 * 10, 24 * 1024, 2000, 24 * 1024 / 2e-6, 50});
  CHECK(profiler.value(1) == 5);
  CHECK(profiler.value(2) == 6);
  CHECK(profiler.value(3) == 7);
  CHECK(profiler.value(5) == 64);
  // Not asked for.
  CHECK(std::isnan(profiler.values(0, {"lts__t_bytes.sum"})[0]));
  CUDA(fake_kernel_time)(1000);
}

TEST_CASE("stand-in: contexts and threads do not mix") {
  const Session cupti(Environment{{"FAKE_CUDA_DEVICES", "2"}, {"FAKE_CUDA_CHIPS", "FAKE1,FAKE2"}});
  const auto chip = [&](std::size_t device) {
    PARAMS(CUpti_Device_GetChipName_Params, params);
    params.deviceIndex = device;
    return CUPTI(cuptiDeviceGetChipName)(&params) == CUPTI_SUCCESS ? params.pChipName : "none";
  };
  CHECK(chip(0) == std::string("FAKE1"));
  CHECK(chip(1) == std::string("FAKE2"));
  CHECK(chip(2) == std::string("none"));

  CUDA(fake_device_set)(1);
  Profiler second(cupti, {"sm__ctas_launched.avg"}, 16, "FAKE2");
  CUDA(fake_device_set)(0);
  Profiler first(cupti, {"sm__ctas_launched.avg"});
  std::uint32_t device = 9;
  CHECK(CUPTI(cuptiGetDeviceId)(static_cast<CUcontext>(second.context), &device) == CUPTI_SUCCESS);
  CHECK(device == 1);
  REQUIRE(first.configure() == CUPTI_SUCCESS);
  REQUIRE(second.configure() == CUPTI_SUCCESS);
  first.start();
  second.start();
  std::thread other([&] {
    CUDA(fake_context_set)(second.context);
    for (int i = 0; i < 3; ++i) launch(80);
  });
  for (int i = 0; i < 5; ++i) launch(40);
  other.join();
  first.stop();
  second.stop();
  CHECK(first.decode() == 0);
  CHECK(second.decode() == 0);
  CHECK(first.names().size() == 5);
  REQUIRE(second.names().size() == 3);
  // Four instances, and eight.
  CHECK(first.value(4) == 10);
  CHECK(second.value(2) == 10);

  // A config image of another chip.
  first.config = second.config;
  CHECK(first.configure() == CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_CASE("stand-in: what there is no room for is dropped and counted") {
  const Session cupti;
  Profiler profiler(cupti, {ctas}, 4);
  const auto ranges = [&](std::size_t most, int launches) {
    profiler.image = profiler.fresh;
    REQUIRE(profiler.configure(CUPTI_AutoRange, CUPTI_UserReplay, most) == CUPTI_SUCCESS);
    profiler.start();
    for (int i = 0; i < launches; ++i) launch(10 + static_cast<std::uint32_t>(i));
    profiler.stop();
    return profiler.decode();
  };
  CHECK(ranges(16, 6) == 2);  // of the image
  CHECK(profiler.names().size() == 4);
  CHECK(profiler.value(3) == 13);
  CHECK(ranges(3, 6) == 3);  // of the pass
  CHECK(profiler.names().size() == 3);
  CHECK(ranges(16, 4) == 0);

  // Only an image with its first bytes can be used again, after SetConfig.
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  profiler.start();
  launch(1);
  profiler.stop();
  CHECK(profiler.decode() == 1);
  profiler.image = profiler.fresh;
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  for (const std::size_t dropped : {0, 1}) {
    profiler.start();
    launch(1);
    profiler.stop();
    CHECK(profiler.decode() == dropped);
    profiler.image = profiler.fresh;
  }
}

TEST_CASE("stand-in: a config of several passes takes several runs") {
  const Session cupti;
  Profiler profiler(cupti, {ctas, "smsp__sass_thread_inst_executed_op_ffma_pred_on.sum"});
  REQUIRE(profiler.host.passes() == 2);
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  const auto pass = [&] {
    profiler.start();
    launch(3);
    launch(4);
    profiler.stop();
  };
  pass();
  CHECK_FALSE(profiler.all_submitted);
  CHECK(profiler.decode() == 0);
  CHECK(profiler.names() == std::vector<std::string>{"0", "1"});
  CHECK(std::isnan(profiler.values(0)[0]));
  CHECK(std::isnan(profiler.values(0)[1]));
  pass();
  CHECK(profiler.all_submitted);
  CHECK(profiler.decode() == 0);
  CHECK(profiler.names().size() == 2);
  CHECK(profiler.values(1) == std::vector<double>{4, 4 * 256 * 2});

  // Kernel replay does them at once.
  profiler.image = profiler.fresh;
  REQUIRE(profiler.configure(CUPTI_AutoRange, CUPTI_KernelReplay) == CUPTI_SUCCESS);
  pass();
  CHECK(profiler.all_submitted);
  CHECK(profiler.decode() == 0);
  CHECK(profiler.values(1) == std::vector<double>{4, 4 * 256 * 2});
}

TEST_CASE("stand-in: user ranges") {
  const Session cupti;
  Profiler profiler(cupti, {ctas});
  REQUIRE(profiler.configure(CUPTI_UserRange, CUPTI_KernelReplay) == CUPTI_ERROR_INVALID_PARAMETER);
  REQUIRE(profiler.configure(CUPTI_UserRange) == CUPTI_SUCCESS);
  CHECK(profiler.push("early") == CUPTI_ERROR_INVALID_OPERATION);
  profiler.start();
  launch(1);
  CHECK(profiler.push("step") == CUPTI_SUCCESS);
  launch(2);
  CHECK(profiler.push("inner") == CUPTI_SUCCESS);
  launch(3);
  CHECK(profiler.pop() == CUPTI_SUCCESS);
  CHECK(profiler.pop() == CUPTI_SUCCESS);
  CHECK(profiler.pop() == CUPTI_ERROR_INVALID_OPERATION);
  launch(4);
  profiler.push("empty");
  profiler.pop();
  profiler.stop();
  CHECK(profiler.decode() == 0);
  CHECK(profiler.names() == std::vector<std::string>{"step", "empty"});
  CHECK(profiler.value(0) == 5);
  CHECK(profiler.value(1) == 0);

  profiler.image = profiler.fresh;
  REQUIRE(profiler.configure(CUPTI_AutoRange) == CUPTI_SUCCESS);
  profiler.start();
  CHECK(profiler.push("step") == CUPTI_ERROR_INVALID_OPERATION);
}

TEST_CASE("stand-in: records of profiled kernels") {
  const Session cupti(Environment{{"FAKE_CUPTI_DELIVER", "flush"}});
  Profiler profiler(cupti, {ctas});
  CUPTI(cuptiActivityEnable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  launch(1, "before");
  profiler.start();
  launch(1, "inside");
  profiler.stop();
  profiler.image = profiler.fresh;
  REQUIRE(profiler.configure(CUPTI_AutoRange, CUPTI_KernelReplay) == CUPTI_SUCCESS);
  profiler.start();
  launch(1, "replayed");
  profiler.stop();
  CUDA(fake_synchronize)();
  CUPTI(cuptiActivityFlushAll)(0);
  CUPTI(cuptiActivityDisable)(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  const auto& all = kernels();
  REQUIRE(all.size() == 4);
  CHECK(all[0].name == "before");
  CHECK(all[2].name == "WaitNs");
  CHECK(all[1].name == "inside");
  CHECK(all[1].correlation == all[2].correlation);
  CHECK(all[2].start >= all[0].end);
  CHECK(all[2].end > all[2].start);
  CHECK(all[2].end <= all[1].start);
  CHECK(all[1].end == all[1].start + 1000);
  CHECK(all[3].name == "replayed");
  CHECK(all[3].start == 0);
  CHECK(all[3].end == 0);
}

TEST_CASE("stand-in: callbacks of launches") {
  Session cupti;
  struct Seen {
    CUpti_CallbackId id;
    std::uint32_t x, y, stream;
  };
  std::vector<Seen> seen;
  CUptiResult availability = CUPTI_SUCCESS;
  cupti.on_call = [&](CUpti_CallbackDomain, CUpti_CallbackId id, const CUpti_CallbackData& data) {
    if (data.callbackSite != CUPTI_API_ENTER) return;
    std::uint32_t stream = 0;
    const auto stream_of = [&](CUstream handle) {
      CUPTI(cuptiGetStreamIdEx)(data.context, handle, 0, &stream);
      return stream;
    };
    if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
      const auto* params = static_cast<const cuLaunchKernel_params*>(data.functionParams);
      seen.push_back({id, params->gridDimX, params->blockDimY, stream_of(params->hStream)});
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx) {
      const auto* params = static_cast<const cuLaunchKernelEx_params*>(data.functionParams);
      seen.push_back({id, params->config->gridDimX, params->config->blockDimY,
                      stream_of(params->config->hStream)});
    } else if (id == CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel) {
      const auto* params =
          static_cast<const cuLaunchCooperativeKernel_params*>(data.functionParams);
      seen.push_back({id, params->gridDimX, params->blockDimY, stream_of(params->hStream)});
    } else {
      seen.push_back({id, 0, 0, 0});
    }
    PARAMS(CUpti_Profiler_GetCounterAvailability_Params, params);
    availability = CUPTI(cuptiProfilerGetCounterAvailability)(&params);
  };
  for (const CUpti_CallbackId id :
       {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
        CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch}) {
    cupti.watch(CUPTI_CB_DOMAIN_DRIVER_API, id);
  }
  const LaunchShape shape{.grid = {5, 1, 1}, .block = {8, 4, 1}, .stream = 2};
  CUDA(fake_launch_shape)(LaunchBy::runtime, "a", shape);
  CUDA(fake_launch_shape)(LaunchBy::driver_ex, "b", shape);
  CUDA(fake_launch_shape)(LaunchBy::runtime_cooperative, "c", shape);
  CUDA(fake_graph_launch)("d", 3);
  REQUIRE(seen.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(seen[i].x == 5);
    CHECK(seen[i].y == 4);
    CHECK(seen[i].stream == 9);
  }
  CHECK(seen[3].id == CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
  CHECK(availability != CUPTI_SUCCESS);
  PARAMS(CUpti_Profiler_GetCounterAvailability_Params, params);
  CHECK(CUPTI(cuptiProfilerGetCounterAvailability)(&params) == CUPTI_SUCCESS);
  CHECK(params.counterAvailabilityImageSize > 0);
}

TEST_CASE("stand-in: calls out of order") {
  const Session cupti;
  Profiler profiler(cupti, {ctas});
  CHECK(profiler.start() == CUPTI_ERROR_INVALID_OPERATION);
  CHECK(profiler.stop() == CUPTI_ERROR_INVALID_OPERATION);
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  CHECK(profiler.start() == CUPTI_SUCCESS);
  CHECK(profiler.start() == CUPTI_ERROR_INVALID_OPERATION);
  CHECK(profiler.configure() == CUPTI_ERROR_INVALID_OPERATION);
  PARAMS(CUpti_RangeProfiler_Enable_Params, again);
  again.ctx = static_cast<CUcontext>(profiler.context);
  CHECK(CUPTI(cuptiRangeProfilerEnable)(&again) == CUPTI_ERROR_INVALID_OPERATION);
  CUDA(fake_context_destroy)(profiler.context);
  CHECK(profiler.stop() == CUPTI_ERROR_INVALID_CONTEXT);

  PARAMS(CUpti_RangeProfiler_Stop_Params, params);
  CHECK(CUPTI(cuptiRangeProfilerStop)(&params) == CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_CASE("stand-in: trouble in the range profiler") {
  using Clock = std::chrono::steady_clock;
  const Session cupti({{"FAKE_CUPTI_DROP_RANGES", "3"},
                       {"FAKE_CUPTI_METRIC_COST_US", "2000"},
                       {"FAKE_CUPTI_START_COST_MS", "30,10"},
                       {"FAKE_CUPTI_UNSUPPORTED", "vGpu"},
                       {"FAKE_CUPTI_HANG", "slow:1"},
                       {"FAKE_CUPTI_FAIL", "cuptiRangeProfilerStop=26@3"}});
  PARAMS(CUpti_Profiler_DeviceSupported_Params, device);
  REQUIRE(CUPTI(cuptiProfilerDeviceSupported)(&device) == CUPTI_SUCCESS);
  CHECK(device.isSupported == CUPTI_PROFILER_CONFIGURATION_UNSUPPORTED);
  CHECK(device.vGpu == CUPTI_PROFILER_CONFIGURATION_DISABLED);
  CHECK(device.sli == CUPTI_PROFILER_CONFIGURATION_SUPPORTED);
  PARAMS(CUpti_Profiler_Initialize_Params, initialize);
  CHECK(CUPTI(cuptiProfilerInitialize)(&initialize) == CUPTI_SUCCESS);

  const auto ms = [](Clock::time_point since) {
    return std::chrono::duration<double, std::milli>(Clock::now() - since).count();
  };
  Profiler profiler(cupti, {ctas});
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  auto since = Clock::now();
  profiler.start();
  CHECK(ms(since) >= 30);
  since = Clock::now();
  for (std::uint32_t i = 0; i < 7; ++i) launch(i + 1, "slow");
  CHECK(ms(since) >= 14);
  profiler.stop();
  CHECK(profiler.decode() == 2);
  CHECK(profiler.names() == std::vector<std::string>{"0", "1", "3", "4", "6"});
  CHECK(profiler.value(4) == 7);

  profiler.image = profiler.fresh;
  REQUIRE(profiler.configure(CUPTI_AutoRange, CUPTI_KernelReplay) == CUPTI_SUCCESS);
  since = Clock::now();
  profiler.start();
  CHECK(ms(since) >= 10);
  since = Clock::now();
  launch(1, "slow");
  CHECK(ms(since) >= 900);
  CHECK(profiler.stop() == CUPTI_SUCCESS);
  CHECK(profiler.start() == CUPTI_SUCCESS);
  CHECK(profiler.stop() == CUPTI_ERROR_HARDWARE_BUSY);
}

TEST_CASE("stand-in: a range profiler that hangs does not keep the launches") {
  const Session cupti(Environment{{"FAKE_CUPTI_HANG", "cuptiRangeProfilerStop:2"}});
  Profiler profiler(cupti, {ctas});
  REQUIRE(profiler.configure() == CUPTI_SUCCESS);
  profiler.start();
  std::atomic<bool> stopped{false};
  std::thread stopping([&] {
    profiler.stop();
    stopped.store(true);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  launch(1);
  CHECK_FALSE(stopped.load());
  stopping.join();
  CHECK(profiler.decode() == 0);
  CHECK(profiler.names().size() == 1);
}

TEST_CASE("stand-in: an older range profiler refuses what it does not know") {
  const Session cupti(Environment{{"FAKE_CUPTI_VERSION", "130300"}});
  void* context = CUDA(fake_context_create)();
  using Params = CUpti_RangeProfiler_Enable_Params;
  PARAMS(CUpti_RangeProfiler_Enable_Params, params);
  params.ctx = static_cast<CUcontext>(context);
  CHECK(CUPTI(cuptiRangeProfilerEnable)(&params) == CUPTI_ERROR_INVALID_PARAMETER);
  params.structSize = CUPTI_PROFILER_STRUCT_SIZE(Params, pRangeProfilerObject);
  CHECK(CUPTI(cuptiRangeProfilerEnable)(&params) == CUPTI_SUCCESS);
}

TEST_CASE("stand-in: the bare library has no profiling API") {
  void* bare = dlopen(GPUPROF_BUILD_DIR "/tests/fake/bare/libcupti.so.12", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(bare);
  CHECK(dlsym(bare, "cuptiSubscribe"));
  for (const char* name : {"cuptiRangeProfilerEnable", "cuptiProfilerHostInitialize",
                           "cuptiProfilerInitialize", "cuptiDeviceGetChipName"}) {
    CAPTURE(name);
    CHECK_FALSE(dlsym(bare, name));
  }
}
