#include "libprof/collect/call_records.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <thread>
#include <vector>

#include "libprof/base/clock.hpp"
#include "libprof/collect/made_records.hpp"

using namespace gpuprof;
using namespace gpuprof::collect;

namespace {

constexpr auto runtime = CUPTI_CB_DOMAIN_RUNTIME_API;
constexpr auto driver = CUPTI_CB_DOMAIN_DRIVER_API;
constexpr CUpti_CallbackId malloc_id = CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020;
constexpr CUpti_CallbackId driver_alloc_id = CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2;

std::uint64_t system_time() { return static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)); }

CUptiResult CUPTIAPI another_clock(std::uint64_t* now) {
  static std::uint64_t last = 1000;
  *now = last += 10;
  return CUPTI_SUCCESS;
}

class CallRecordsTest {
 protected:
  CallRecordsTest() {
    REQUIRE(arena.create(4, 1 << 16));
    slots.begin(cupti, true);
    records.begin(cupti);
  }

  void enter(CUpti_CallbackDomain domain, CUpti_CallbackId id, std::uint32_t correlation) {
    CUpti_CallbackData call{};
    call.callbackSite = CUPTI_API_ENTER;
    call.correlationId = correlation;
    records.enter(slots.here(), domain, id, call);
  }
  void exit(CUpti_CallbackDomain domain, CUpti_CallbackId id, std::uint32_t correlation,
            std::uint32_t result = 0) {
    CUpti_CallbackData call{};
    call.callbackSite = CUPTI_API_EXIT;
    call.correlationId = correlation;
    call.functionReturnValue = &result;
    records.exit(slots.here(), domain, id, call);
  }
  void make_calls(int count) {
    for (int i = 0; i < count; ++i) {
      enter(runtime, malloc_id, ++last);
      exit(runtime, malloc_id, last);
    }
  }

  std::vector<CUpti_ActivityAPI> calls(SlotState state = SlotState::calls) const {
    std::vector<CUpti_ActivityAPI> all;
    for (std::uint32_t slot = arena.slot_count(); slot < arena.all_slots(); ++slot) {
      const SlotHeader& header = arena.slot_header(slot);
      if (header.state.load() != state) continue;
      MadeRecords(arena, slot).for_each(0, header.used.load(), [&](const CUpti_Activity* record) {
        if (record->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) return;
        all.push_back(*reinterpret_cast<const CUpti_ActivityAPI*>(record));
      });
    }
    return all;
  }

  std::vector<CUpti_ActivitySynchronization2> waits() const {
    std::vector<CUpti_ActivitySynchronization2> all;
    const std::uint32_t slot = arena.slot_count();  // the first that is lent
    MadeRecords(arena, slot)
        .for_each(0, arena.slot_header(slot).used.load(), [&](const CUpti_Activity* record) {
          if (record->kind != CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) return;
          all.push_back(*reinterpret_cast<const CUpti_ActivitySynchronization2*>(record));
        });
    return all;
  }

  std::uint32_t last = 0;
  CheckedApi cupti;
  Arena arena;
  ThreadSlots slots{arena};
  CallRecords records{slots};
};

}  // namespace

TEST_CASE_METHOD(CallRecordsTest, "a call has a record like CUPTI's") {
  const std::uint64_t before = system_time();
  enter(runtime, malloc_id, 7);
  exit(runtime, malloc_id, 7, 2);
  const std::uint64_t after = system_time();
  const auto all = calls();
  REQUIRE(all.size() == 1);
  CHECK(all[0].kind == CUPTI_ACTIVITY_KIND_RUNTIME);
  CHECK(all[0].cbid == malloc_id);
  CHECK(all[0].correlationId == 7);
  CHECK(all[0].returnValue == 2);
  CHECK(all[0].processId == static_cast<std::uint32_t>(getpid()));
  CHECK(all[0].threadId == static_cast<std::uint32_t>(syscall(SYS_gettid)));
  CHECK(before <= all[0].start);
  CHECK(all[0].start <= all[0].end);
  CHECK(all[0].end <= after);
}

TEST_CASE_METHOD(CallRecordsTest, "a driver call is part of the runtime call that makes it") {
  enter(runtime, malloc_id, 7);
  enter(driver, driver_alloc_id, 7);
  exit(driver, driver_alloc_id, 7);
  exit(runtime, malloc_id, 7);
  enter(driver, driver_alloc_id, 8);
  exit(driver, driver_alloc_id, 8);
  const auto all = calls();
  REQUIRE(all.size() == 2);
  CHECK(all[0].kind == CUPTI_ACTIVITY_KIND_RUNTIME);
  CHECK(all[1].kind == CUPTI_ACTIVITY_KIND_DRIVER);
  CHECK(all[1].correlationId == 8);
}

TEST_CASE_METHOD(CallRecordsTest, "calls that the application makes within a call have records") {
  enter(driver, driver_alloc_id, 1);
  enter(runtime, malloc_id, 2);
  exit(runtime, malloc_id, 2);
  exit(driver, driver_alloc_id, 1);
  const auto all = calls();
  REQUIRE(all.size() == 2);
  CHECK(all[0].correlationId == 2);
  CHECK(all[1].correlationId == 1);
  CHECK(all[1].start <= all[0].start);
  CHECK(all[0].end <= all[1].end);
}

TEST_CASE_METHOD(CallRecordsTest, "a wait has a record of its own") {
  cupti.cuptiGetStreamIdEx = [](CUcontext, CUstream stream, std::uint8_t per_thread,
                                std::uint32_t* id) {
    *id = stream ? 13 : 7 + per_thread;
    return CUPTI_SUCCESS;
  };
  const auto stream = reinterpret_cast<CUstream>(0x1000);
  const auto event = reinterpret_cast<CUevent>(0x7f0000002000);
  const auto wait = [&](CUpti_CallbackId id, const void* params, std::uint32_t result = 0) {
    CUpti_CallbackData call{};
    call.correlationId = ++last;
    call.contextUid = 5;
    call.functionParams = params;
    records.enter_wait(slots.here(), id, call);
    call.functionReturnValue = &result;
    records.exit_wait(slots.here(), id, call);
  };
  cuStreamSynchronize_params of_stream{stream}, of_default{nullptr};
  cuEventSynchronize_params of_event{event};
  cuStreamWaitEvent_params for_event{stream, event, 0};
  enter(runtime, malloc_id, ++last);  // waits within it
  wait(CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, nullptr);
  wait(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, &of_stream);
  wait(CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, &of_default);
  wait(CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, &of_event, 600);
  wait(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, &for_event);
  exit(runtime, malloc_id, 1);
  const auto all = waits();
  REQUIRE(all.size() == 5);
  constexpr std::uint32_t none = CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  const struct {
    CUpti_ActivitySynchronizationType type;
    std::uint32_t stream, event, result;
  } expected[] = {
      {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE, none, none, 0},
      {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 13, none, 0},
      {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, 8, none, 0},
      {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE, none, 0x200, 600},
      {CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, 13, 0x200, 0},
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    CAPTURE(i);
    CHECK(all[i].type == expected[i].type);
    CHECK(all[i].streamId == expected[i].stream);
    CHECK(all[i].cudaEventId == expected[i].event);
    CHECK(all[i].returnValue == expected[i].result);
    CHECK(all[i].correlationId == 2 + i);
    CHECK(all[i].contextId == 5);
    CHECK(all[i].start <= all[i].end);
  }
  CHECK(calls().size() == 1);
}

TEST_CASE_METHOD(CallRecordsTest, "the outermost call in which a thread waited is known") {
  cupti.cuptiGetStreamIdEx = [](CUcontext, CUstream, std::uint8_t, std::uint32_t* id) {
    *id = 7;
    return CUPTI_SUCCESS;
  };
  const auto call = [](std::uint32_t correlation) {
    CUpti_CallbackData data{};
    data.correlationId = correlation;
    return data;
  };
  const auto waits = [&](CUpti_CallbackId id, const void* params) {
    CUpti_CallbackData data = call(9);
    data.functionParams = params;
    records.enter_wait(slots.here(), id, data);
    return records.exit_wait(slots.here(), id, data);
  };
  constexpr CUpti_CallbackId of_context = CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize;
  CHECK(waits(of_context, nullptr));  // calls are not recorded
  records.enter(slots.here(), runtime, malloc_id, call(1));
  CHECK_FALSE(waits(of_context, nullptr));
  CHECK(records.exit(slots.here(), runtime, malloc_id, call(1)));
  records.enter(slots.here(), runtime, malloc_id, call(2));
  CHECK_FALSE(records.exit(slots.here(), runtime, malloc_id, call(2)));
  records.enter(slots.here(), driver, of_context, call(3));
  CHECK_FALSE(waits(of_context, nullptr));
  CHECK(records.exit(slots.here(), driver, of_context, call(3)));
  cuStreamWaitEvent_params for_event{nullptr, reinterpret_cast<CUevent>(0x2000), 0};
  CHECK_FALSE(waits(CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, &for_event));
}

TEST_CASE_METHOD(CallRecordsTest, "half a call has no record") {
  exit(runtime, malloc_id, 1);
  enter(runtime, malloc_id, 2);
  records.forget_open_calls();
  exit(runtime, malloc_id, 2);
  CHECK(calls().empty());
  // Nor does it hide what follows.
  enter(driver, driver_alloc_id, 3);
  exit(driver, driver_alloc_id, 3);
  CHECK(calls().size() == 1);
}

TEST_CASE_METHOD(CallRecordsTest, "a thread leaves full slots, and its last one when it ends") {
  std::thread thread([&] { make_calls(4000); });
  thread.join();
  CHECK(calls().empty());
  const auto all = calls(SlotState::calls_done);
  REQUIRE(all.size() == 4000);
  make_calls(1);
  CHECK(calls().size() == 1);
}

TEST_CASE_METHOD(CallRecordsTest, "calls without a slot are counted") {
  make_calls(100'000);
  const auto stored = calls().size() + calls(SlotState::calls_done).size();
  CHECK(stored < 100'000);
  CHECK(stored + arena.ledger().discarded[CUPTI_ACTIVITY_KIND_RUNTIME].load() == 100'000);
}

TEST_CASE_METHOD(CallRecordsTest, "the next trace begins with slots of its own") {
  make_calls(5);
  arena.reset();
  slots.begin(cupti, true);
  records.begin(cupti);
  CHECK(calls().empty());
  make_calls(3);
  CHECK(calls().size() == 3);
}

TEST_CASE_METHOD(CallRecordsTest, "times are CUPTI's where its clock is not the system's") {
  cupti.cuptiGetTimestamp = &another_clock;
  slots.begin(cupti, true);
  records.begin(cupti);
  make_calls(1);
  const auto all = calls();
  REQUIRE(all.size() == 1);
  CHECK(all[0].end == all[0].start + 10);
  CHECK(all[0].end < 10'000);
}
