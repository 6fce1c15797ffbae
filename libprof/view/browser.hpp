// The user's browser, led to an address that no other user may learn.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::view {

// Everybody on the machine may read the arguments of a program. So the browser is given a file that
// only its user can read, and that leads to the address. One thread.
class Browser {
 public:
  // Where none can be opened nothing happens: the address was printed.
  explicit Browser(const std::string& address);
  ~Browser();
  Browser(const Browser&) = delete;
  Browser& operator=(const Browser&) = delete;

  // It has asked the server: the file goes.
  void arrived() { folder_.reset(); }

 private:
  std::unique_ptr<TemporaryFolder> folder_;
  pid_t process_ = 0;
};

}  // namespace gpuprof::view
