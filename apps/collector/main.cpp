// libgpuprof_collector.so: the entry points called by the CUDA driver, NVTX, OpenACC and OpenMP.
// Nothing else is exported, and nothing runs before one of them is called.
//
// The driver loads the library named by CUDA_INJECTION64_PATH and calls InitializeInjection while
// cuInit runs; NVTX loads the one named by NVTX_INJECTION64_PATH and calls
// InitializeInjectionNvtx2, once per library that uses NVTX, possibly before any CUDA call. The
// first call starts the whole collector.
//
// An OpenACC runtime loads the library named by ACC_PROFLIB and calls acc_register_library; an
// OpenMP runtime with OMPT loads those named by OMP_TOOL_LIBRARIES and calls ompt_start_tool.
// gpuprof sets these two if their constructs are wanted.
//
// A process that traces itself, with gpuprof.trace() of the Python package, loads the library and
// calls gpuprof_collector_begin and gpuprof_collector_end, one thread at a time, and in between, if
// ranges are measured, gpuprof_collector_begin_range and gpuprof_collector_end_range.
//
// gpuprof attach loads the library into a running process and calls gpuprof_collector_attach.
#include <Openmp/omp-tools.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "libprof/collect/collector.hpp"

namespace {

using gpuprof::collect::Collector;

constexpr char socket_variable[] = "GPUPROF_SOCKET";

// secure_getenv: ignore the variable in a setuid program, whose caller has fewer privileges.
void start() noexcept { Collector::instance().start(secure_getenv(socket_variable)); }

template <class Function>
Function* of_cupti(const char* name) noexcept {
  return reinterpret_cast<Function*>(Collector::instance().cupti_symbol(name));
}

// NVTX treats 1 as success and unloads us on 0.
int inject_into_nvtx(NvtxGetExportTableFunc_t get_export_table) noexcept {
  start();
  return Collector::instance().take_nvtx(get_export_table);
}

constexpr char openmp_entry[] = "cuptiOpenMpInitialize_v2";

// OpenMP asks for the tool at startup, and passes its lookup function when it initializes the tool.
int openmp_starts(ompt_function_lookup_t lookup, int device, ompt_data_t* data) noexcept {
  const auto initialize = of_cupti<int(ompt_function_lookup_t, int, ompt_data_t*)>(openmp_entry);
  // OpenMP keeps the tool if this is not 0; CUPTI returns 0 on success.
  return initialize && initialize(lookup, device, data) == 0;
}

void openmp_ends(ompt_data_t*) noexcept {}

}  // namespace

extern "C" {

void acc_register_library(void* register_callback, void* unregister_callback, void* look_up) {
  start();
  const auto initialize = of_cupti<int(void*, void*, void*)>("cuptiOpenACCInitialize");
  if (initialize) initialize(register_callback, unregister_callback, look_up);
}

ompt_start_tool_result_t* ompt_start_tool(unsigned int, const char*) {
  start();
  static ompt_start_tool_result_t tool{&openmp_starts, &openmp_ends, {}};
  // Null: OpenMP may use another tool.
  return Collector::instance().cupti_symbol(openmp_entry) ? &tool : nullptr;
}

int InitializeInjection() {
  start();
  Collector::instance().driver_starts();
  return 1;
}

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) {
  return inject_into_nvtx(get_export_table);
}

// NVTX 1 has fewer tables.
int InitializeInjectionNvtx(NvtxGetExportTableFunc_t get_export_table) {
  return inject_into_nvtx(get_export_table);
}

// Null: the process is traced from now on. Otherwise the reason why not, valid until the next call.
const char* gpuprof_collector_begin(const char* socket_path) {
  static std::string* const why_not = new std::string;
  auto answer = Collector::instance().begin(socket_path);
  if (!answer) return nullptr;
  why_not->swap(*answer);
  return why_not->c_str();
}

// gpuprof attach has loaded the library and calls this on a thread of CUDA's. Returns at once.
void gpuprof_collector_attach(const char* socket_path) {
  Collector::instance().attach(socket_path);
}

void gpuprof_collector_end() { Collector::instance().end(); }

std::uint64_t gpuprof_collector_begin_range(const char* name) {
  return Collector::instance().begin_range(name);
}

void gpuprof_collector_end_range() { Collector::instance().end_range(); }

// GCC would hide it like the type of its argument, whose header says so.
[[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(
    nvtxExtModuleInfo_t* extension) {
  start();
  return extension && Collector::instance().take_nvtx_extension(*extension);
}

}  // extern "C"
