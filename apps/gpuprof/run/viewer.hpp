// --view: the run in a browser while it is recorded, and afterwards until Ctrl-C.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "apps/gpuprof/run/log.hpp"
#include "libprof/launch/end_requests.hpp"
#include "libprof/launch/helper_process.hpp"

namespace gpuprof::app {

// `gpuprof view --live` as a process of its own. Main thread.
class Viewer {
 public:
  // Before there is a file of the run at `output`, a name with placeholders. Throws gpuprof::Error
  // where there will be several files.
  Viewer(const std::string& output, Log& log);

  // A process is recorded: waits until there is the file, a few seconds at most.
  void start();
  // Until it ends, or the user ends it. `ends` takes no signals from then on.
  void wait(launch::EndRequests& ends);

 private:
  bool is_there() const;

  const std::string path_;
  Log& log_;
  dev_t device_ = 0;  // of a file that is replaced
  ino_t inode_ = 0;
  std::unique_ptr<launch::HelperProcess> process_;
};

}  // namespace gpuprof::app
