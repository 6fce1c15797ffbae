// New files, and what they may take the place of.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::record {

// How files are made. They tell of what a user does, so by default they are his alone.
struct FileRules {
  bool overwrite = false;
  mode_t mode = 0600;     // exactly: the process's umask does not count
  bool numbered = false;  // where the name cannot be had: "x-2.sqlite" for "x.sqlite", and so on
  // What `overwrite` may replace besides: files that begin so, and that is_one() says yes of. With
  // none of them: nothing.
  std::string_view begins = {};
  bool (*is_one)(const std::string& path) = nullptr;
  bool profiles = true;    // false: profiles and captures are not replaced
  std::string input = {};  // the file that is read: never replaced, under whatever name
};

// A file that is made in a private folder beside its place, takes the place when it is told to, and
// is gone with the object if it was not. Until then whatever has the name stays as it is.
//
// Without `overwrite` the name has to be free. With it, what is there has to be a profile of ours
// or nvprof's, a capture, an empty file or what the rules name, and no gpuprof may be writing to
// it. What belongs to a database (-wal, -shm, -journal) counts with it. One thread.
class OutputFile {
 public:
  // An empty file. Throws gpuprof::Error when its folder cannot be written to or the name cannot
  // be had.
  OutputFile(std::string name, FileRules rules);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Where it is now, without symbolic links.
  const std::string& path() const { return path_; }
  // As people call it, also while it has no place yet.
  const std::string& name() const { return name_; }
  bool placed() const { return !folder_; }
  // Whether place() would take something away.
  bool replaces() const;
  // Whether it is still where it was, and no other in its place.
  bool there() const;

  // Gives it its name, and takes away what had it. When the name cannot be had any more the file
  // gets a number, for by now it holds what must not be lost. Throws gpuprof::Error where the
  // system refuses.
  void place();

 private:
  void choose_name();
  bool replace();

  std::string wanted_;
  FileRules rules_;
  int number_ = 1;
  std::string name_;
  std::string target_;  // where it will be, or is
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::unique_ptr<TemporaryFolder> folder_;  // null: it has its place
};

}  // namespace gpuprof::record
