// New files, and what they may take the place of.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::store {

// How files are made. Profiles tell of what a user does, so by default they are his alone.
struct FileRules {
  bool overwrite = false;
  mode_t mode = 0600;  // exactly: the process's umask does not count
};

// Why there must be no new file of this name; nothing: there may. Without `overwrite` the name has
// to be free, with it what is there has to be a profile, a capture or an empty file, that nobody is
// writing. What belongs to a database (-wal, -shm, -journal) counts with it.
std::optional<Error> why_not_written(const std::string& path, bool overwrite);

// A file that is made in a private folder beside its place, takes the place when it is told to, and
// is gone with the object if it was not. Until then whatever has the name stays as it is. One
// thread.
class OutputFile {
 public:
  // An empty file. Throws gpuprof::Error when its folder cannot be written to, and what
  // why_not_written() says.
  OutputFile(std::string path, FileRules rules);

  // Where it is now, without symbolic links. While it has no place yet, it has its last name
  // already.
  const std::string& path() const { return path_; }
  bool placed() const { return !folder_; }

  // Gives it its name, and takes away what had it. false: the name may not be had any more, or not
  // yet: why_not_written() says why. Throws gpuprof::Error where the system refuses.
  bool place() { return place(wanted_); }
  // As another file of the same folder.
  bool place(const std::string& path);

 private:
  std::string wanted_;
  FileRules rules_;
  std::optional<TemporaryFolder> folder_;
  std::string path_;
};

// "x.sqlite" -> "x-2.sqlite".
std::string numbered_name(const std::string& path, int number);

}  // namespace gpuprof::store
