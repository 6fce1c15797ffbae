// directives: plays an OpenACC and an OpenMP runtime, which load the tools that ACC_PROFLIB and
// OMP_TOOL_LIBRARIES name: three kernels of one, four parallel regions of the other. Prints the
// last part of the name of each library that it was told to load.
#include <Openmp/omp-tools.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

void (*acc_callback)(const char* kernel) = nullptr;
void (*omp_callback)() = nullptr;

void acc_register(int, void (*callback)(const char*)) { acc_callback = callback; }
int omp_set_callback(int, void (*callback)()) {
  omp_callback = callback;
  return 1;
}
ompt_interface_fn_t omp_look_up(const char* name) {
  return std::strcmp(name, "ompt_set_callback") == 0
             ? reinterpret_cast<ompt_interface_fn_t>(&omp_set_callback)
             : nullptr;
}

std::vector<std::string> names(const char* variable, char separator) {
  std::vector<std::string> parts;
  const char* value = std::getenv(variable);
  std::string_view rest = value ? value : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(separator), rest.size());
    parts.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    std::printf("%s %s\n", variable, parts.back().substr(parts.back().rfind('/') + 1).c_str());
  }
  return parts;
}

template <class Function>
Function* find(const std::string& library, const char* function) {
  void* handle = dlopen(library.c_str(), RTLD_NOW);
  return handle ? reinterpret_cast<Function*>(dlsym(handle, function)) : nullptr;
}

}  // namespace

int main() {
  for (const std::string& library : names("ACC_PROFLIB", ';')) {
    if (auto* start = find<void(void*, void*, void*)>(library, "acc_register_library")) {
      start(reinterpret_cast<void*>(&acc_register), nullptr, nullptr);
    }
  }
  for (const std::string& library : names("OMP_TOOL_LIBRARIES", ':')) {
    auto* start =
        find<ompt_start_tool_result_t*(unsigned, const char*)>(library, "ompt_start_tool");
    ompt_start_tool_result_t* tool = start ? start(201811, "stand-in") : nullptr;
    // A tool whose initializer returns 0 gets nothing.
    if (tool && tool->initialize(&omp_look_up, 0, &tool->tool_data) == 0) omp_callback = nullptr;
    if (tool) break;
  }
  fake_launch("kernel", 1);
  for (int i = 0; acc_callback && i < 3; ++i) acc_callback("saxpy");
  for (int i = 0; omp_callback && i < 4; ++i) omp_callback();
  return 0;
}
