// Other CUPTI clients in the target, for example torch.profiler. CUPTI has one subscriber, which we
// are: the calls of another one would fail with CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED.
//
// Libraries linked against CUPTI call it through their own table of imported functions. We replace
// its entries with functions that serve the client (share/stand_ins.hpp), and dlsym with one that
// finds these. Where clients are not served, only cuptiSubscribe is replaced, with a function that
// answers as CUPTI would and reports the attempt: CUPTI does not notify us, so the user would never
// learn why that tool's results are empty.
#pragma once

#include <cupti.h>

namespace gpuprof::collect {

// Looks through the libraries loaded since the last call. `told` is called once per attempt to
// subscribe of a client that is not served, on the thread that tries, with the path of the library.
// One thread at a time.
void watch_for_second_clients(void (*told)(const char* library));

// The CUPTI that the collector uses, as dlopen returned it: whatever its name is, it is no client.
void spare_cupti(void* library);

// Libraries and programs with their own libcupti push correlation ids into that one, which nobody
// reads. From the next look-through on, their calls go to these functions of ours.
void take_external_correlation(decltype(&::cuptiActivityPushExternalCorrelationId) push,
                               decltype(&::cuptiActivityPopExternalCorrelationId) pop);

// Restores the original targets of their calls. For a collector that has given up on CUPTI.
void leave_second_clients_alone();

}  // namespace gpuprof::collect
