// Files of other tools, made into what a run of ours is: exports of Nsight Systems, and traces of
// PyTorch's profiler.
//
// They are data of strangers: opened to be read, nothing in them is run, believed as a length or
// used as a name of anything, and what makes no sense is left out and counted.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "libprof/import/tally.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::importing {

struct Job {
  std::string path;
  std::function<void(wire::Frame)> take;                // frames of the run, for a record::Recorder
  std::function<void(std::string_view what)> progress;  // called now and then
  std::function<bool()> stop;                           // true: throws Stopped
};

struct Stopped {};

// Throws Error: it is no such file, or cannot be read.
NotImported import_file(const Job& job);

}  // namespace gpuprof::importing
