// Compiler directives: OpenACC and OpenMP constructs.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#define GPUPROF_OPENACC_FIELDS                                                                   \
  COL(u32, eventKind, "what happened: enum CUpti_OpenAccEventKind"),                             \
      COL(u32, parentConstruct, "construct it belongs to: enum CUpti_OpenAccConstructKind"),     \
      COL(u32, version, "version of the OpenACC tools interface"),                               \
      COL(u32, implicit, "1 = no directive of its own asked for it"),                            \
      COL(u32, deviceType, "type of the device: acc_device_t of the OpenACC runtime"),           \
      COL(u32, deviceNumber, "number of the device in the OpenACC runtime"),                     \
      COL(u32, threadId, "thread as the OpenACC runtime counts them"),                           \
      COL(u64, async, "value of the async clause"),                                              \
      COL(u64, asyncMap, "queue of the OpenACC runtime"),                                        \
      COL(u32, lineNo, "first source line of the construct; 0 = not known"),                     \
      COL(u32, endLineNo, "last source line of the construct; 0 = not known"),                   \
      COL(u32, funcLineNo, "first source line of the function; 0 = not known"),                  \
      COL(u32, funcEndLineNo, "last source line of the function; 0 = not known"),                \
      COL(u64, start, "[ns] start on the host, on CUPTI's clock"),                                 \
      COL(u64, end, "[ns] end on the host, on CUPTI's clock"),                                     \
      COL(u32, cuDeviceId, "CUDA device"), COL(u32, cuContextId, "CUDA context"),                \
      COL(u32, cuStreamId, "CUDA stream"), COL(u32, cuProcessId, "process"),                     \
      COL(u32, cuThreadId, "thread"),                                                            \
      COL(u32, externalId, "joins EXTERNAL_CORRELATION.externalId of kind OpenACC; 0 = none"),   \
      STR(srcFile, "source file: StringTable id; 0 = not known"),                                \
      STR(funcName, "function the construct is in: StringTable id; 0 = not known")

KIND(OpenaccData, 33, OPENACC_DATA, CUpti_ActivityOpenAccData, openacc, enable,
     "OpenACC constructs that move or allocate data. They come from a runtime with OpenACC's "
     "profiling interface: GCC's libgomp has it.",
     GPUPROF_OPENACC_FIELDS,
     COL(u64, bytes, "[bytes] how much was moved or allocated"),
     COL(u64, hostPtr, "address on the host; 0 = not known"),
     COL(u64, devicePtr, "address on the device; 0 = not known"),
     STR(varName, "variable: StringTable id; 0 = not known"))

KIND(OpenaccLaunch, 34, OPENACC_LAUNCH, CUpti_ActivityOpenAccLaunch, openacc, enable,
     "Kernel launches of OpenACC constructs.",
     GPUPROF_OPENACC_FIELDS,
     COL(u64, numGangs, "[count] gangs"), COL(u64, numWorkers, "[count] workers"),
     COL(u64, vectorLength, "[count] vector lanes"),
     STR(kernelName, "kernel: StringTable id; 0 = not known"))

KIND(OpenaccOther, 35, OPENACC_OTHER, CUpti_ActivityOpenAccOther, openacc, enable,
     "The other OpenACC constructs: waits, set-up, shut-down.", GPUPROF_OPENACC_FIELDS)

KIND(Openmp, 47, OPENMP, CUpti_ActivityOpenMp, openmp, enable,
     "OpenMP constructs, from a runtime with OMPT: LLVM's libomp has it, GCC's libgomp has not. "
     "With libomp 16 CUPTI 13.5 reports no end: 0.",
     COL(u32, eventKind, "construct: enum CUpti_OpenMpEventKind"),
     COL(u32, version, "version of the OpenMP tools interface"),
     COL(u32, threadId, "thread as the OpenMP runtime counts them"),
     COL(u64, start, "[ns] start on the host, on CUPTI's clock"),
     COL(u64, end, "[ns] end on the host, on CUPTI's clock"),
     COL(u32, cuProcessId, "process"), COL(u32, cuThreadId, "thread"))

using DirectiveKinds = std::tuple<OpenaccData, OpenaccLaunch, OpenaccOther, Openmp>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
