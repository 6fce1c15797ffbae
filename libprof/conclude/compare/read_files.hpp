// Reads the runs of several files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/conclude/compare/run.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::compare {

// A profile or a file of runs, and where its runs are appended.
struct FileOfRuns {
  std::string path;
  std::vector<Run>* runs = nullptr;
};

struct FileReading {
  reading::Filter window = {};  // see read_run()
  // Whether to stop. Called by several threads.
  std::function<bool()> is_interrupted = [] { return false; };
  // What takes long, and what readers of a file should know. Called by the caller's thread.
  std::function<void(std::string_view)> show = [](std::string_view) {};
  std::function<void(const std::string&)> tell = [](const std::string&) {};
};

// Two files at a time are read; runs, notes and errors come in the order of the files. Stops after
// a damaged profile, with what could be read of it, and returns false. Throws Error for a file that
// cannot be read or has no GPU work, and store::DatabaseError if interrupted.
bool read_files(const std::vector<FileOfRuns>& files, const FileReading& how);

}  // namespace gpuprof::compare
