// New files, and which files they may replace.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::record {

// How files are created. They reveal what a user does, so by default only the user can read them.
struct FileRules {
  bool overwrite = false;
  mode_t mode = 0600;     // exact: the umask is ignored
  bool numbered = false;  // if the name is unavailable: "x-2.sqlite" for "x.sqlite", etc.
  // What else `overwrite` may replace: files that begin like this and for which is_one() returns
  // true. With neither set: nothing else.
  std::string_view begins = {};
  bool (*is_one)(const std::string& path) = nullptr;
  // The option that sets `overwrite`, for messages.
  std::string_view option = "-f";
  bool profiles = true;                  // false: profiles and captures are not replaced
  std::vector<std::string> inputs = {};  // files being read: never replaced, under any name
};

// A file that is created in a private folder next to its destination and moved there by place();
// otherwise it disappears with the object. Until then, an existing file of that name is left alone.
//
// Without `overwrite` the name must be free. With it, an existing file must be a profile of ours or
// nvprof's, a capture, empty or allowed by the rules, and no gpuprof may be writing to it. A
// database's -wal, -shm and -journal files count as part of it. Used by one thread.
class OutputFile {
 public:
  // Creates an empty file. Throws gpuprof::Error if its folder is not writable or the name is
  // unavailable.
  OutputFile(std::string name, FileRules rules);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // The current path, without symbolic links.
  const std::string& path() const { return path_; }
  // The name for messages, even before the file is placed.
  const std::string& name() const { return name_; }
  bool placed() const { return !folder_; }
  // Whether place() would replace something.
  bool replaces() const;
  // Whether it is still where it was and has not been replaced.
  bool there() const;

  // Gives the file its name, replacing what had it. If the name is no longer available, the file
  // gets a numbered one, because by now its contents must not be lost. Throws gpuprof::Error if the
  // system refuses.
  void place();

 private:
  void choose_name();
  bool replace();

  std::string wanted_;
  FileRules rules_;
  int number_ = 1;
  std::string name_;
  std::string target_;  // the final path
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::unique_ptr<TemporaryFolder> folder_;  // null: placed
};

}  // namespace gpuprof::record
