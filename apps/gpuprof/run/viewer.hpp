// --view: shows the run in a browser while it is recorded, and afterwards until Ctrl-C.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>

#include "apps/gpuprof/run/log.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/record/launch/end_requests.hpp"

namespace gpuprof::app {

// `gpuprof view --live` as a separate process. For the main thread only.
class Viewer {
 public:
  // Must be called before the run's file exists. `output` is a name with placeholders. Throws
  // gpuprof::Error if there would be several files.
  Viewer(const std::string& output, Log& log);

  // Called when a process is being recorded: waits for the file, a few seconds at most.
  void start();
  // Waits until the viewer ends, or the user ends it. `ends` ignores signals from then on.
  void wait(launch::EndRequests& ends);

 private:
  bool is_there() const;

  const std::string path_;
  Log& log_;
  dev_t device_ = 0;  // of a file that is being replaced
  ino_t inode_ = 0;
  std::unique_ptr<HelperProcess> process_;
};

}  // namespace gpuprof::app
