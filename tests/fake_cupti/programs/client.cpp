// client ROUNDS [PATH]: another client of CUPTI, as torch.profiler is one. Its functions are among
// its imports (LD_PRELOAD says which it gets), or those that dlsym finds in the library at PATH.
//
// In each round it subscribes, enables kinds of records and callbacks, launches and calls, ends all
// that and reads its buffers; before and after, it launches what its records must not have. Prints
// what it got in each round. ROUNDS may be "wait": one round, within which it says "ready" and
// waits for a line; before that it says "ready", and waits, too.
#include <cupti.h>
#include <dlfcn.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

#define FUNCTIONS(X)                        \
  X(cuptiSubscribe)                         \
  X(cuptiUnsubscribe)                       \
  X(cuptiEnableCallback)                    \
  X(cuptiActivityRegisterCallbacks)         \
  X(cuptiActivityRegisterTimestampCallback) \
  X(cuptiActivityEnable)                    \
  X(cuptiActivityDisable)                   \
  X(cuptiActivityFlushAll)                  \
  X(cuptiActivityGetNextRecord)             \
  X(cuptiActivityGetNumDroppedRecords)      \
  X(cuptiGetTimestamp)                      \
  X(cuptiActivityPushExternalCorrelationId) \
  X(cuptiActivityPopExternalCorrelationId)

#define WEAK(name) extern "C" __attribute__((weak)) decltype(name) name;
FUNCTIONS(WEAK)
#undef WEAK

namespace {

struct Cupti {
#define MEMBER(name) decltype(&::name) name = nullptr;
  FUNCTIONS(MEMBER)
#undef MEMBER
};

// A function of its own, so that main() cannot have read the imports before they were changed.
[[gnu::noinline]] Cupti find(const char* path) {
  Cupti found;
  void* const library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : nullptr;
#define FIND(name)                                                                  \
  found.name = library ? reinterpret_cast<decltype(&::name)>(dlsym(library, #name)) \
                       : (path ? nullptr : &::name);
  FUNCTIONS(FIND)
#undef FIND
  return found;
}

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_RUNTIME,
                                        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};
constexpr auto custom = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

Cupti cupti;
std::atomic<int> callbacks{0};
std::atomic<int> lent{0};

struct Seen {
  int kernels = 0, others = 0, calls = 0, ids = 0, wrong_ids = 0, wrong_times = 0, odd = 0;
};
std::mutex mutex;  // guards what follows
Seen seen;
std::uint64_t expected_id = 0, from = 0, to = 0;

std::atomic<bool> own_clock{true};

// This client's own clock, or CUPTI's where that has no other.
std::uint64_t now() {
  timespec time{};
  clock_gettime(own_clock.load() ? CLOCK_MONOTONIC : CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void CUPTIAPI called(void* data, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* call) {
  const auto& about = *static_cast<const CUpti_CallbackData*>(call);
  const bool right = data == &callbacks && domain == CUPTI_CB_DOMAIN_RUNTIME_API &&
                     std::strncmp(about.functionName, "cudaLaunch", 10) == 0;
  callbacks += right ? 1 : 1000;
}

void CUPTIAPI requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 8192;  // small: more than one is needed
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
  ++lent;
}

void check_times(std::uint64_t start, std::uint64_t end) {
  // A microsecond is what clocks may differ by.
  if (start + 1000 < from || end > now() + 1000 || start > end || start > to + 1'000'000) {
    ++seen.wrong_times;
  }
}

void take(const CUpti_Activity& record) {
  if (record.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    const auto& kernel = reinterpret_cast<const CUpti_ActivityKernel9&>(record);
    ++(std::strcmp(kernel.name, "traced") == 0 ? seen.kernels : seen.others);
    check_times(kernel.start, kernel.end);
  } else if (record.kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
    const auto& call = reinterpret_cast<const CUpti_ActivityAPI&>(record);
    ++seen.calls;
    check_times(call.start, call.end);
  } else if (record.kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
    const auto& id = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
    ++(id.externalId == expected_id && id.externalKind == custom ? seen.ids : seen.wrong_ids);
  } else {
    ++seen.odd;
  }
}

void CUPTIAPI completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                        std::size_t used) {
  {
    const std::lock_guard lock(mutex);
    CUpti_Activity* record = nullptr;
    while (used > 0 && cupti.cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
      take(*record);
    }
  }
  std::free(buffer);
  --lent;
}

bool waits = false;

void wait_for_line() {
  if (!waits) return;
  std::puts("ready");
  std::fflush(stdout);
  char line[80];
  if (!std::fgets(line, sizeof line, stdin)) std::exit(5);
}

bool trace(std::uint64_t round) {
  CUpti_SubscriberHandle handle = nullptr;
  const CUptiResult result = cupti.cuptiSubscribe(&handle, &called, &callbacks);
  if (result != CUPTI_SUCCESS) {
    std::printf("refused: %d\n", static_cast<int>(result));
    return false;
  }
  CUpti_SubscriberHandle second = nullptr;
  if (cupti.cuptiSubscribe(&second, &called, nullptr) == CUPTI_SUCCESS) std::puts("two at once");
  own_clock = cupti.cuptiActivityRegisterTimestampCallback != nullptr;
  if (own_clock) cupti.cuptiActivityRegisterTimestampCallback(&now);
  cupti.cuptiActivityRegisterCallbacks(&requested, &completed);
  cupti.cuptiEnableCallback(1, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                            CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  {
    const std::lock_guard lock(mutex);
    seen = {};
    expected_id = 70 + round;
    from = now();
    to = UINT64_MAX / 2;
  }
  for (const auto kind : kinds) cupti.cuptiActivityEnable(kind);
  cupti.cuptiActivityPushExternalCorrelationId(custom, 70 + round);
  fake_launch("traced", 20);
  wait_for_line();
  fake_launch("traced", 30);
  fake_copy(1, 100);  // whose kind is not enabled, except for the call
  std::uint64_t last = 0, time = 0;
  cupti.cuptiActivityPopExternalCorrelationId(custom, &last);
  cupti.cuptiGetTimestamp(&time);
  for (const auto kind : kinds) cupti.cuptiActivityDisable(kind);
  {
    const std::lock_guard lock(mutex);
    to = now();
  }
  cupti.cuptiEnableCallback(0, handle, CUPTI_CB_DOMAIN_RUNTIME_API,
                            CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000);
  fake_launch("other", 10);
  fake_synchronize();  // a forced flush takes the times of kernels that run
  cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::size_t dropped = 0;
  cupti.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  cupti.cuptiUnsubscribe(handle);
  const std::lock_guard lock(mutex);
  std::printf(
      "kernels %d others %d calls %d ids %d wrong %d odd %d callbacks %d lent %d "
      "dropped %zu last %d wrong times %d clock %d\n",
      seen.kernels, seen.others, seen.calls, seen.ids, seen.wrong_ids, seen.odd,
      callbacks.exchange(0), lent.load(), dropped, static_cast<int>(last), seen.wrong_times,
      time >= from && time <= to);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  fake_init();
  waits = std::strcmp(argv[1], "wait") == 0;
  wait_for_line();
  cupti = find(argc > 2 ? argv[2] : nullptr);
  if (!cupti.cuptiSubscribe) return 3;
  const int rounds = waits ? 1 : std::atoi(argv[1]);
  for (int round = 0; round < rounds; ++round) {
    fake_launch("other", 10);
    if (!trace(static_cast<std::uint64_t>(round))) return 4;
  }
  fake_launch("other", 10);
  return 0;
}
