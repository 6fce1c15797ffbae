// OpenACC and OpenMP of the stand-in.

#define CUPTI_DIRECTIVE_SUPPORT 1
#include <Openmp/omp-tools.h>
#include <cupti.h>
#include <unistd.h>

#include "tests/fake_cupti/cupti/buffers.hpp"
#include "tests/fake_cupti/cupti/kept_texts.hpp"
#include "tests/fake_cupti/cupti/state.hpp"

using namespace fake;

extern "C" {

// What the stand-in OpenACC runtime registers a callback with: the event and what to call.
CUptiResult cuptiOpenACCInitialize(void* register_callback, void*, void*) {
  constexpr int launch_starts = 16;
  using Register = void (*)(int event, void (*)(const char* kernel));
  reinterpret_cast<Register>(register_callback)(launch_starts, [](const char* kernel) {
    if (!wants(CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH)) return;
    CUpti_ActivityOpenAccLaunch record{};
    record.start = timestamp();
    record.end = timestamp();
    record.kernelName = kept(kernel);
    record.cuProcessId = static_cast<std::uint32_t>(getpid());
    append(CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, &record);
  });
  return CUPTI_SUCCESS;
}

int cuptiOpenMpInitialize_v2(ompt_function_lookup_t lookup, int, ompt_data_t*) {
  constexpr int parallel_begins = 3;
  using Set = int (*)(int event, void (*)());
  reinterpret_cast<Set>(lookup("ompt_set_callback"))(parallel_begins, [] {
    if (!wants(CUPTI_ACTIVITY_KIND_OPENMP)) return;
    CUpti_ActivityOpenMp record{};
    record.eventKind = CUPTI_OPENMP_EVENT_KIND_PARALLEL;
    record.start = timestamp();
    record.end = timestamp();
    record.cuProcessId = static_cast<std::uint32_t>(getpid());
    append(CUPTI_ACTIVITY_KIND_OPENMP, &record);
  });
  return CUPTI_SUCCESS;
}

}  // extern "C"
