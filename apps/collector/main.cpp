// libgpuprof_collector.so: the entry points that the CUDA driver and NVTX call. Nothing else is
// exported, and nothing runs before one of them is called.
//
// The driver loads what CUDA_INJECTION64_PATH names and calls InitializeInjection while cuInit
// runs; NVTX loads what NVTX_INJECTION64_PATH names and calls InitializeInjectionNvtx2, once per
// library that uses NVTX, perhaps before any CUDA call. Whichever is first starts the collector
// whole: CUPTI's NVTX entry point crashes when CUPTI was not set up before it.
#include <cstdlib>

#include "libprof/collect/collector.hpp"

namespace {

using gpuprof::collect::Collector;

constexpr char socket_variable[] = "GPUPROF_SOCKET";

// Not the variable of one who starts a program with rights that he has not got himself.
void start() noexcept { Collector::instance().start(secure_getenv(socket_variable)); }

// Hands NVTX on to CUPTI's function `name`. NVTX takes 1 for success and unloads us on 0; CUPTI
// returns 0 on success.
int hand_on(const char* name, void* argument) noexcept {
  start();
  using Initialize = int (*)(void*);
  const auto initialize = reinterpret_cast<Initialize>(Collector::instance().cupti_symbol(name));
  if (!initialize) return 0;
  initialize(argument);
  return 1;
}

}  // namespace

extern "C" {

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

int InitializeInjectionNvtxExtension(void* module) {
  return hand_on("cuptiNvtxExtensionInitialize", module);
}

}  // extern "C"
