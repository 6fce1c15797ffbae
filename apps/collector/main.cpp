// libgpuprof_collector.so: the entry points that the CUDA driver, NVTX, OpenACC and OpenMP call.
// Nothing else is exported, and nothing runs before one of them is called.
//
// The driver loads what CUDA_INJECTION64_PATH names and calls InitializeInjection while cuInit
// runs; NVTX loads what NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, once per
// library that uses NVTX, perhaps before any CUDA call. Whichever is first starts the collector
// whole: CUPTI's NVTX entry point crashes when CUPTI was not set up before it.
//
// An OpenACC runtime loads what ACC_PROFLIB names and calls acc_register_library; an OpenMP runtime
// with OMPT loads what OMP_TOOL_LIBRARIES names and calls ompt_start_tool. gpuprof sets these two
// where their constructs are wanted.
//
// A process that traces itself, gpuprof.trace() of the Python package, loads the library and calls
// gpuprof_collector_begin and gpuprof_collector_end, one thread at a time, and in between, where
// ranges are measured, gpuprof_collector_begin_range and gpuprof_collector_end_range.
#include <Openmp/omp-tools.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "libprof/collect/collector.hpp"

namespace {

using gpuprof::collect::Collector;

constexpr char socket_variable[] = "GPUPROF_SOCKET";

// Not the variable of one who starts a program with rights that he has not got himself.
void start() noexcept { Collector::instance().start(secure_getenv(socket_variable)); }

template <class Function>
Function* of_cupti(const char* name) noexcept {
  return reinterpret_cast<Function*>(Collector::instance().cupti_symbol(name));
}

// Hands NVTX on to CUPTI's function `name`. NVTX takes 1 for success and unloads us on 0; CUPTI
// returns 0 on success.
int hand_on(const char* name, void* argument) noexcept {
  start();
  const auto initialize = of_cupti<int(void*)>(name);
  if (!initialize) return 0;
  initialize(argument);
  return 1;
}

constexpr char openmp_entry[] = "cuptiOpenMpInitialize_v2";

// OpenMP asks for the tool when it starts, and gives what it has to offer when it initialises it.
int openmp_starts(ompt_function_lookup_t lookup, int device, ompt_data_t* data) noexcept {
  const auto initialize = of_cupti<int(ompt_function_lookup_t, int, ompt_data_t*)>(openmp_entry);
  // OpenMP goes on with the tool when this is not 0; CUPTI returns 0 on success.
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
  // Null: another tool may have it.
  return Collector::instance().cupti_symbol(openmp_entry) ? &tool : nullptr;
}

int InitializeInjection() {
  start();
  Collector::instance().driver_starts();
  return 1;
}

int InitializeInjectionNvtx2(void* get_export_table) {
  return hand_on("cuptiNvtxInitialize2", get_export_table);
}

int InitializeInjectionNvtx(void* get_export_table) {
  return hand_on("cuptiNvtxInitialize", get_export_table);
}

// Null: the process is traced from now on. Else why not, until the next call.
const char* gpuprof_collector_begin(const char* socket_path) {
  static std::string* const why_not = new std::string;
  auto answer = Collector::instance().begin(socket_path);
  if (!answer) return nullptr;
  why_not->swap(*answer);
  return why_not->c_str();
}

void gpuprof_collector_end() { Collector::instance().end(); }

std::uint64_t gpuprof_collector_begin_range(const char* name) {
  return Collector::instance().begin_range(name);
}

void gpuprof_collector_end_range() { Collector::instance().end_range(); }

int InitializeInjectionNvtxExtension(void* module) {
  return hand_on("cuptiNvtxExtensionInitialize", module);
}

}  // extern "C"
