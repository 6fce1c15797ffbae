// Files for a process that has a file system of its own, as those in containers have.
#pragma once

#include <memory>
#include <string>

#include "libprof/attach/process.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::attach {

// A temporary folder in the file system of a process, in which gpuprof and the process see the same
// files at different paths. Removed by the destructor. One thread.
class FolderInside {
 public:
  // In /tmp, /var/tmp or /dev/shm of the process: the first in which this user can make files and
  // from which libraries can be loaded. Throws gpuprof::Error if there is none.
  explicit FolderInside(const Process& process);
  ~FolderInside();
  FolderInside(const FolderInside&) = delete;
  FolderInside& operator=(const FolderInside&) = delete;

  // Its path in this process, and in no other one; valid as long as the object.
  const std::string& path() const { return here_; }
  // Copies a file into it. Returns the copy's path here. Throws gpuprof::Error.
  std::string add(const std::string& file) const;
  // The path by which the process sees what has this path here, which begins with path().
  std::string inside(const std::string& here) const;

 private:
  // false: no folder can be made there.
  bool make(const Process& process, const std::string& place);

  int place_ = -1;  // the folder's own folder
  std::unique_ptr<TemporaryFolder> folder_;
  int opened_ = -1;
  std::string here_, there_;  // its paths in this process and in the other
};

}  // namespace gpuprof::attach
