// How commands read a profile.
#pragma once

#include <functional>
#include <string>

#include "apps/gpuprof/command/progress.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::app {

// A profile while a command reads it.
struct OpenProfile {
  const reading::ProfileFile& file;
  store::Database& database;
  Progress& progress;

  // Says what takes long. Throws if the user has interrupted.
  void show(std::string_view what) const {
    progress.show(what);
    database.check_watch();
  }
};

// Opens the profile and calls `read`, and again with a copy of what can be read if that runs into
// damage; then `print`. Both may print to standard output. At the end it prints what readers of the
// file should know, unless `quiet`. Returns the exit code, also if the user interrupts. Throws
// Error for a file that cannot be read.
int with_profile(const std::string& path, const std::function<void(const OpenProfile&)>& read,
                 const std::function<void()>& print = {}, bool quiet = false);

// Prints a line to standard error.
void say(const std::string& text);
// Prints what readers of the file should know, unless `quiet`. Returns the exit code.
int tell_notes(const reading::ProfileFile& file, bool quiet = false);

}  // namespace gpuprof::app
