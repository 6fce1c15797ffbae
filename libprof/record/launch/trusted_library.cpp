#include "libprof/record/launch/trusted_library.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace gpuprof::launch {
namespace {

// Whether somebody else may change it or replace it. In a folder with the sticky bit everyone may
// create files, but rename only their own.
bool is_safe(const std::filesystem::path& path, uid_t user) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return false;
  if (status.st_uid != 0 && status.st_uid != user) return false;
  const bool sticky = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX);
  // A group may be private to the user; root's sometimes has other members.
  const mode_t others = status.st_uid == 0 ? S_IWGRP | S_IWOTH : S_IWOTH;
  return sticky || !(status.st_mode & others);
}

}  // namespace

TrustedLibrary trusted_library(const std::string& named, std::span<const std::string> offered,
                               uid_t user) {
  if (!named.starts_with('/')) return {{}, "its libcupti has no whole path: " + named};
  if (std::ranges::find(offered, named) != offered.end()) return {named, {}};
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(named, error);
  if (error || !std::filesystem::is_regular_file(file, error)) {
    return {{}, "its libcupti is not there: " + named};
  }
  for (std::filesystem::path part = file;; part = part.parent_path()) {
    if (!is_safe(part, user)) {
      const std::string where = part == file ? "" : " (because of " + part.string() + ")";
      return {{}, "its libcupti is neither root's nor its own: " + named + where};
    }
    if (part == part.parent_path()) return {file.string(), {}};
  }
}

}  // namespace gpuprof::launch
