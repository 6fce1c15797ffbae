// A rank that --ranks leaves out: only roll-ups of its recording are kept.
//
// The recording is a ring in a temporary folder. `gpuprof cluster roll-up`, a program of the Python
// package, copies it now and then (gpuprof snapshot), adds what is new to the roll-ups, and does so
// once more when the recording is over.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::app {

class RollUps {
 public:
  // Null: everything is recorded, because there is no --ranks, or it has this rank. Otherwise the
  // helper runs, and `options` say what is recorded where. Throws gpuprof::Error if this process
  // does not know its rank, or the helper cannot work.
  static std::unique_ptr<RollUps> begin(Options& options);
  ~RollUps();
  RollUps(const RollUps&) = delete;
  RollUps& operator=(const RollUps&) = delete;

  // The recording is complete and nobody has it open. Waits until the roll-ups are, about which the
  // helper says a line. False: they could not be written.
  bool finish();

 private:
  RollUps(Options& options, std::int64_t rank);

  TemporaryFolder folder_;
  int recording_ = -1;  // a pipe that is closed when the recording is over
  std::optional<HelperProcess> helper_;
};

}  // namespace gpuprof::app
