// Turns other tools' files into a run of ours: Nsight Systems exports and PyTorch profiler traces.
//
// They are untrusted data: opened for reading only; nothing in them is executed, believed as a
// length or used as a name, and what makes no sense is skipped and counted.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "libprof/exchange/import/tally.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::importing {

struct Job {
  std::string path;
  std::function<void(wire::Frame)> take;                // the run's frames, for record::Recorder
  std::function<void(std::string_view what)> progress;  // called now and then
  std::function<bool()> stop;                           // true: throws Stopped
};

struct Stopped {};

// Throws Error if it is not such a file or cannot be read.
NotImported import_file(const Job& job);

}  // namespace gpuprof::importing
