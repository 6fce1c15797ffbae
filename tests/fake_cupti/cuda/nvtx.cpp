// The stand-in for NVTX, which real programs carry themselves: loads the injection library that
// NVTX_INJECTION64_PATH names at the first call, before or after cuInit.
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace {

fake::NvtxTable table{};

fake::NvtxTable* get_export_table(std::uint32_t id) {
  return id == fake::nvtx_table_id ? &table : nullptr;
}

void load_injection() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (!path || !*path) return;
  void* library = dlopen(path, RTLD_LAZY);
  if (!library) return;
  const auto entry = reinterpret_cast<int (*)(void*)>(dlsym(library, "InitializeInjectionNvtx2"));
  // NVTX lets go of a library that answers 0, and goes on without.
  if (!entry || entry(reinterpret_cast<void*>(&get_export_table)) == 0) dlclose(library);
}

void ready_for_nvtx() {
  static std::once_flag once;
  std::call_once(once, load_injection);
}

}  // namespace

extern "C" {

void fake_nvtx_push(const char* message) {
  ready_for_nvtx();
  if (table.push) table.push(message);
}

void fake_nvtx_pop() {
  ready_for_nvtx();
  if (table.pop) table.pop();
}

void fake_nvtx_mark(const char* message) {
  ready_for_nvtx();
  if (table.mark) table.mark(message);
}

void fake_nvtx_push_payload(const char* message, const void* payload, std::size_t size) {
  ready_for_nvtx();
  if (table.push_payload) table.push_payload(message, payload, size);
}

}  // extern "C"
