// Folders for what must not stay: sockets, copies, files that are not complete yet.
#pragma once

#include <string>
#include <string_view>

namespace gpuprof {

// A folder with a name nobody can guess, open to its owner only, and gone with the object with all
// that is in it. A process that is killed leaves it behind; the next that makes one in the same
// place finds that its lock is free, and removes it. Any thread; the object belongs to one. Throws
// gpuprof::Error when none can be made.
class TemporaryFolder {
 public:
  // In place(); its name is "gpuprof-" and six characters.
  TemporaryFolder();
  // In the folder `beside`; its name is hidden.
  explicit TemporaryFolder(const std::string& beside);
  // In `where`; its name is `prefix` and six characters. `hint`: what to do if none can be made.
  TemporaryFolder(const std::string& where, std::string_view prefix, const char* hint);
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Whole, and without symbolic links in it, so that it means the same wherever a process is.
  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }

  // Where the user wants temporary files: $TMPDIR, or /tmp.
  static std::string place();

  // For a process that ends without its destructors.
  static void remove_all();

 private:
  std::string path_;
  int lock_ = -1;  // held as long as the process lives
};

}  // namespace gpuprof
