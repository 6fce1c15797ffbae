// Temporary folders: for sockets, copies, and files that are not complete yet.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// A folder with an unguessable name that only its owner can open; the destructor removes it with
// its contents. A process that is killed leaves it behind; the next process that creates one in the
// same place finds its lock free and removes it. Any thread may create one; an object belongs to
// one thread. Throws gpuprof::Error if no folder can be created.
class TemporaryFolder {
 public:
  // In place(); named "gpuprof-" and six characters.
  TemporaryFolder();
  // In the folder `beside`, with a hidden name.
  explicit TemporaryFolder(const std::string& beside);
  // In this place, whose path is kept as it is: it may be one of /proc's.
  struct As {
    std::string place;
  };
  explicit TemporaryFolder(const As& as);
  // In `where`; named `prefix` and six characters. `hint`: what to do if none can be created.
  TemporaryFolder(const std::string& where, std::string_view prefix, const char* hint);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Absolute and without symbolic links, so that it means the same in every process, but for As.
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // The user's folder for temporary files: $TMPDIR, or /tmp.
  static std::string place();

  // For a process that exits without running destructors.
  static void remove_all();

 private:
  void make(const std::string& place, std::string_view prefix, const char* hint);

  std::string path_;
  int lock_ = -1;  // held for as long as the process lives
};

}  // namespace gpuprof
