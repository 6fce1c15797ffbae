// Opens the user's browser at an address that no other user may learn.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::view {

// Program arguments are visible to every user of the machine, so the browser is passed a file that
// only its user can read and that redirects to the address. Not thread-safe.
class Browser {
 public:
  // Does nothing if no browser can be opened, since the address was printed.
  explicit Browser(const std::string& address);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // Called when the browser has contacted the server: removes the file.
  void arrived() { folder_.reset(); }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  pid_t process_ = 0;
};

}  // namespace gpuprof::view
