#include "libprof/base/path.hpp"

#include <filesystem>
#include <system_error>

namespace gpuprof {

std::string folder_of(const std::string& path) {
  const std::filesystem::path file(path);
  return file.has_parent_path() ? file.parent_path().string() : ".";
}

std::string resolved(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path folder = std::filesystem::canonical(folder_of(path), failed);
  return failed ? path : (folder / std::filesystem::path(path).filename()).string();
}

}  // namespace gpuprof
