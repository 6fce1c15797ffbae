// Code on the device: modules with their cubin, and the functions in them.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

#ifdef GPUPROF_HAVE_CUPTI
// CUPTI's record plus what it lacks: the collector creates these records itself.
struct ModuleRecord {
  CUpti_ActivityKind kind;
  std::uint32_t contextId;
  std::uint32_t id;
  std::uint32_t cubinSize;
  const void* cubin;
  std::uint64_t cubinCrc;
};
#endif

KIND(Function, 26, FUNCTION, CUpti_ActivityFunction, module, ourselves,
     "Kernels and device functions of the loaded modules.",
     COL(u32, id, "number of the function; counts per process"),
     COL(u32, contextId, "context its module is loaded in"),
     COL(u32, moduleId, "module it is in: MODULE.id"),
     COL(u32, functionIndex,
          "number of the function in its module, from 1, in the order of the cubin"),
     STR(name, "mangled name: StringTable id"))

KIND(Module, 27, MODULE, ModuleRecord, module, ourselves,
     "Modules loaded into a context. A cubin is there once, in the first row with its cubinCrc.",
     COL(u32, contextId, "context it is loaded in"),
     COL(u32, id, "number of the module; counts per process"),
     COL(u32, cubinSize, "[bytes] size of the column cubin"),
     BYTES(cubin, cubinSize,
           "the cubin, an ELF file; empty = as in an earlier row with the same cubinCrc"),
     COL(u64, cubinCrc, "CUPTI's sum of the cubin, by which PC samples name it"))

using CodeKinds = std::tuple<Function, Module>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
