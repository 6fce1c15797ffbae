#include "libprof/attach/folder_inside.hpp"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "libprof/base/error.hpp"

namespace gpuprof::attach {
namespace {

std::string path_of(int file) { return "/proc/self/fd/" + std::to_string(file); }

bool can_load_from(int folder) {
  struct statvfs about {};
  return fstatvfs(folder, &about) == 0 && !(about.f_flag & ST_NOEXEC);
}

bool copy_all(int from, int to) {
  constexpr std::size_t at_a_time = std::size_t{1} << 30;
  ssize_t copied = 0;
  while ((copied = sendfile(to, from, nullptr, at_a_time)) > 0) {
  }
  return copied == 0;
}

}  // namespace

FolderInside::FolderInside(const Process& process) {
  for (const char* place : {"/tmp", "/var/tmp", "/dev/shm"}) {
    if (make(process, place)) return;
  }
  process.refuse(
      "is in a container, and no folder of it can be used for gpuprof's library: neither "
      "/tmp nor /var/tmp nor /dev/shm can be written to and loaded from",
      "run gpuprof in that container");
}

FolderInside::~FolderInside() {
  folder_.reset();
  for (const int file : {opened_, place_}) {
    if (file >= 0) close(file);
  }
}

// All is done through descriptors: paths of the container may lead to other places at any time.
bool FolderInside::make(const Process& process, const std::string& place) {
  place_ = process.open_folder(place);
  if (place_ >= 0 && can_load_from(place_)) {
    try {
      folder_ = std::make_unique<TemporaryFolder>(TemporaryFolder::As{path_of(place_)});
      opened_ = open(folder_->path().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    } catch (const Error&) {
      // The next place may do.
    }
  }
  if (opened_ >= 0) {
    here_ = path_of(opened_);
    there_ = place + "/" + std::filesystem::path(folder_->path()).filename().string();
    return true;
  }
  folder_.reset();
  if (place_ >= 0) close(place_);
  place_ = -1;
  return false;
}

std::string FolderInside::add(const std::string& file) const {
  const std::string name = std::filesystem::path(file).filename();
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const int to = from < 0 ? -1 : openat(opened_, name.c_str(), flags, 0700);
  const bool copied = to >= 0 && copy_all(from, to);
  const int why = errno;
  for (const int each : {from, to}) {
    if (each >= 0) close(each);
  }
  if (copied) return here_ + "/" + name;
  throw Error(file + " cannot be copied into the container: " + std::strerror(why),
              "run gpuprof in that container", ExitCode::application_not_found);
}

std::string FolderInside::inside(const std::string& here) const {
  return there_ + here.substr(here_.size());
}

}  // namespace gpuprof::attach
