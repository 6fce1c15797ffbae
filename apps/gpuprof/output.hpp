// What run and replay have in common: a temporary file where none was named, and the last line.
#pragma once

#include <string>

#include "apps/gpuprof/log.hpp"
#include "apps/gpuprof/recorder.hpp"

namespace gpuprof::app {

// A file that is removed again when the object goes.
class TemporaryProfile {
 public:
  TemporaryProfile();
  ~TemporaryProfile();
  TemporaryProfile(const TemporaryProfile&) = delete;
  TemporaryProfile& operator=(const TemporaryProfile&) = delete;
  std::string path() const { return folder_ + "/run.sqlite"; }

 private:
  std::string folder_;
};

// The folder a file of this name lies in.
std::string folder_of(const std::string& path);

// "gpuprof: run.sqlite: 1234 records of 1 process, nothing lost".
void print_outcome(Recorder& recorder, Log& log);

}  // namespace gpuprof::app
