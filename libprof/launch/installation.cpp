#include "libprof/launch/installation.hpp"

#include "libprof/base/driver_library.hpp"

namespace gpuprof::launch {
namespace {

std::string own_cupti() { return (library_folder() / "libcupti.so.13").string(); }

}  // namespace

std::filesystem::path library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "gpuprof";
}

std::vector<std::string> collector_cupti_candidates(const std::string& chosen) {
  if (!chosen.empty()) return {std::filesystem::absolute(chosen).string()};
  return {own_cupti(), "mapped", "libcupti.so.13", "libcupti.so.12"};
}

std::vector<std::string> host_cupti_candidates(const std::string& chosen) {
  if (!chosen.empty()) return {std::filesystem::absolute(chosen).string()};
  const std::string ours =
      driver_found() ? own_cupti() : (library_folder() / "host" / "libcupti.so.13").string();
  return {ours, "libcupti.so.13", "libcupti.so.12"};
}

}  // namespace gpuprof::launch
