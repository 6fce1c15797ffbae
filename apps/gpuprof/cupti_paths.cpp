#include "apps/gpuprof/cupti_paths.hpp"

#include "apps/gpuprof/run_info.hpp"
#include "gpuprof_paths.hpp"

namespace gpuprof::app {
namespace {

std::string own_cupti() { return (library_folder() / "libcupti.so.13").string(); }

void add_fallback(std::vector<std::string>& candidates) {
  if (!cupti_fallback_path.empty()) candidates.emplace_back(cupti_fallback_path);
}

}  // namespace

std::filesystem::path library_folder() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  return program.parent_path().parent_path() / "lib" / "gpuprof";
}

std::vector<std::string> collector_cupti_candidates(const std::string& chosen) {
  if (!chosen.empty()) return {std::filesystem::absolute(chosen).string()};
  std::vector<std::string> candidates{own_cupti(), "mapped"};
  add_fallback(candidates);
  candidates.insert(candidates.end(), {"libcupti.so.13", "libcupti.so.12"});
  return candidates;
}

std::vector<std::string> host_cupti_candidates(const std::string& chosen) {
  if (!chosen.empty()) return {std::filesystem::absolute(chosen).string()};
  std::vector<std::string> candidates;
  if (driver_found()) {
    candidates.push_back(own_cupti());
    add_fallback(candidates);
  } else {
    candidates.push_back((library_folder() / "host" / "libcupti.so.13").string());
  }
  candidates.insert(candidates.end(), {"libcupti.so.13", "libcupti.so.12"});
  return candidates;
}

}  // namespace gpuprof::app
