#include "libprof/base/installation.hpp"

#include "libprof/base/driver_library.hpp"

namespace gpuprof {

std::string own_cupti(const std::filesystem::path& folder) {
  const std::filesystem::path package = folder.parent_path().parent_path();
  std::error_code error;
  const bool is_package = std::filesystem::exists(package / "__init__.py", error);
  return (is_package ? package.parent_path() / "nvidia" / "cu13" / "lib" : folder) /
         "libcupti.so.13";
}

std::filesystem::path library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "gpuprof";
}

std::vector<std::string> collector_cupti_candidates(const std::string& chosen) {
  if (!chosen.empty()) return {std::filesystem::absolute(chosen).string()};
  return {own_cupti(library_folder()), "mapped", "libcupti.so.13", "libcupti.so.12"};
}

std::vector<std::string> host_cupti_candidates(const std::string& chosen,
                                               const std::filesystem::path& folder) {
  if (!chosen.empty()) return {std::filesystem::absolute(chosen).string()};
  if (driver_found()) return {own_cupti(folder), "libcupti.so.13", "libcupti.so.12"};
  return {(folder / "host" / "libcupti.so.13").string(), "libcupti.so.13", "libcupti.so.12",
          (folder / "metrics.catalogue").string()};
}

}  // namespace gpuprof
