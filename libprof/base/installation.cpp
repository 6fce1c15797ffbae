#include "libprof/base/installation.hpp"

#include "libprof/base/driver_library.hpp"

namespace gpuprof {

namespace {

bool is_package(const std::filesystem::path& folder) {
  std::error_code error;
  return std::filesystem::exists(folder / "__init__.py", error);
}

}  // namespace

std::string own_cupti(const std::filesystem::path& folder) {
  const std::filesystem::path package = folder.parent_path().parent_path();
  return (is_package(package) ? package.parent_path() / "nvidia" / "cu13" / "lib" : folder) /
         "libcupti.so.13";
}

std::filesystem::path library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "gpuprof";
}

std::filesystem::path python_packages() {
  const std::filesystem::path prefix = library_folder().parent_path().parent_path();
  return is_package(prefix) ? prefix.parent_path() : prefix / "share" / "gpuprof" / "python";
}

std::filesystem::path python_of(const std::filesystem::path& packages) {
  // ENVIRONMENT/lib/python3.11/site-packages
  const std::filesystem::path python =
      packages.parent_path().parent_path().parent_path() / "bin" / "python3";
  std::error_code error;
  const bool is_environment =
      packages.filename() == "site-packages" && std::filesystem::exists(python, error);
  return is_environment ? python : "python3";
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
