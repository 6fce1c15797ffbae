// CUDA API calls made by the host, and their times.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#define GPUPROF_HOST_TIMES                                 \
  COL(u64, start, "[ns] start on the host, on CUPTI's clock"), \
      COL(u64, end, "[ns] end on the host, on CUPTI's clock")

// The same for tables that nvprof does not have: see own_times in schema/database.hpp.
#define GPUPROF_OWN_HOST_TIMES                             \
  COL(u64, start, "[ns] start on the host, on CUPTI's clock"), \
      COL_AS(u64, "stop", end, "[ns] end on the host, on CUPTI's clock")

#define GPUPROF_API_FIELDS                                                                 \
  COL(u32, cbid, "which function: API_NAME.cbid"), GPUPROF_HOST_TIMES,                     \
      COL(u32, processId, "process that called"), COL(u32, threadId, "thread that called"), \
      CORRELATION(correlationId, "joins the GPU work it asked for"),                       \
      COL(u32, returnValue, "what it returned: cudaError_t or CUresult")

TRAITS(Driver, .api = "driver", .nvprofs = true)
KIND(Driver, 4, DRIVER, CUpti_ActivityAPI, api, enable,
     "Calls of the CUDA driver API. A runtime call makes driver calls with its correlation id.",
     GPUPROF_API_FIELDS)

TRAITS(Runtime, .api = "runtime", .nvprofs = true)
KIND(Runtime, 5, RUNTIME, CUpti_ActivityAPI, api, enable, "Calls of the CUDA runtime API.",
     GPUPROF_API_FIELDS)

TRAITS(InternalLaunchApi, .api = "internal")
KIND(InternalLaunchApi, 48, INTERNAL_LAUNCH_API, CUpti_ActivityAPI, api, enable,
     "Launches that went through no public API.", GPUPROF_API_FIELDS)

// In report order.
using ApiKinds = std::tuple<Runtime, Driver, InternalLaunchApi>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
