// The functions that NVTX calls instead of its own, once the collector is its injection: each copy
// of NVTX in the process has tables of functions, into which the injection writes its own.
#pragma once

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>

#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/nvtx_records.hpp"

namespace gpuprof::collect {

// Numbers of devices, contexts and streams, which programs name by their handles.
class NvtxHandles {
 public:
  NvtxHandles(CheckedApi& cupti, const Contexts& contexts) : cupti_(cupti), contexts_(contexts) {}

  // Records a name. From the program's own thread, and not in a callback of CUPTI.
  void name_device(NvtxRecords& records, std::uint32_t device, const char* name);
  void name_context(NvtxRecords& records, CUcontext context, const char* name);
  void name_stream(NvtxRecords& records, CUstream stream, const char* name);

 private:
  // false: CUPTI does not know it.
  bool find(CUcontext context, CUpti_ActivityObjectKindId& object);

  CheckedApi& cupti_;
  const Contexts& contexts_;
};

// Writes the functions into the tables of a copy of NVTX, and makes them use these two, which are
// the same each time. Any thread. false: there are no tables.
bool take_nvtx(NvtxGetExportTableFunc_t get_export_table, NvtxRecords& records,
               NvtxHandles& handles);
// The same for an extension: that of payloads is the only one that is recorded.
void take_nvtx_extension(nvtxExtModuleInfo_t& extension, NvtxRecords& records);

}  // namespace gpuprof::collect
