// Other CUPTI clients in the target, for example torch.profiler. Only one can use CUPTI, and we
// came first: theirs fails with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED. CUPTI does not
// notify us, so the user would never learn why that tool's results are empty.
//
// Libraries linked against CUPTI call cuptiSubscribe through their own table of imported functions.
// We replace that entry with a function that answers as CUPTI would, and reports the attempt.
// Clients that look CUPTI up with dlsym are not noticed; they get CUPTI's own answer.
#pragma once

#include <cupti.h>

namespace gpuprof::collect {

// Looks through the libraries loaded since the last call. `told` is called once per attempt to
// subscribe, on the thread that tries, with the path of the library. One thread at a time.
void watch_for_second_clients(void (*told)(const char* library));

// Libraries and programs with their own libcupti push correlation ids into that one, which nobody
// reads. From the next look-through on, their calls go to these functions of ours.
void take_external_correlation(decltype(&::cuptiActivityPushExternalCorrelationId) push,
                               decltype(&::cuptiActivityPopExternalCorrelationId) pop);

// Restores the original targets of their calls. For a collector that has given up on CUPTI.
void leave_second_clients_alone();

}  // namespace gpuprof::collect
