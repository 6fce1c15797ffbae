// Code on the device: modules with their cubin, and the functions in them.
#pragma once

#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

KIND(Function, 26, FUNCTION, CUpti_ActivityFunction, module, ourselves,
     "Kernels and device functions of the loaded modules.",
     COL(u32, id, "number of the function; counts per process"),
     COL(u32, contextId, "context its module is loaded in"),
     COL(u32, moduleId, "module it is in: MODULE.id"),
     COL(u32, functionIndex,
          "number of the function in its module, from 1, in the order of the cubin"),
     STR(name, "mangled name: StringTable id"))

KIND(Module, 27, MODULE, CUpti_ActivityModule, module, ourselves,
     "Modules loaded into a context.",
     COL(u32, contextId, "context it is loaded in"),
     COL(u32, id, "number of the module; counts per process"),
     COL(u32, cubinSize, "size of the cubin, bytes"),
     BYTES(cubin, cubinSize, "the cubin, an ELF file"))

using CodeKinds = std::tuple<Function, Module>;

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
