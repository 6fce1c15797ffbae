// The system as the checks see it: its files, the environment, and what the user asked about.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::doctor {

// Constant once the checks run, so any thread may use it. Paths are absolute. Nothing here waits: a
// pipe, a socket or a device in the place of a file is not opened.
struct System {
  // Precedes every path. Empty for the machine itself; otherwise a folder with a copy of its files,
  // in which tests make systems that are broken or sound.
  std::string root;
  std::map<std::string, std::string, std::less<>> environment;
  std::string process;               // the number of the process to look at; empty: none
  std::vector<std::string> program;  // the command to look at; empty: none
  std::string output;                // the file that a run would write

  bool is_copy() const { return !root.empty(); }
  bool is_set(std::string_view name) const { return environment.contains(name); }
  std::string variable(std::string_view name) const;  // empty: not set

  // Up to `most` bytes of a regular file. nullopt: it is not one, or cannot be read.
  std::optional<std::string> text(const std::string& path, std::size_t most = 1 << 20) const;
  // Its first line without blanks at the ends; empty if it cannot be read.
  std::string line(const std::string& path) const;
  bool exists(const std::string& path) const;
  bool is_folder(const std::string& path) const;
  unsigned mode(const std::string& path) const;  // of stat; 0: there is no such file
  bool is_same(const std::string& path, const std::string& other) const;  // one file
  bool may(const std::string& path, int how) const;                       // how: R_OK, W_OK, X_OK
  // Sorted names in a folder, 65,536 at most.
  std::vector<std::string> entries(const std::string& folder) const;
  // The file to which a symbolic link leads, directly or through others; the path itself if it is
  // not a link.
  std::string target(const std::string& path) const;
};

// This machine, or the copy in the folder that GPUPROF_DOCTOR_ROOT names: files are then read below
// that folder, and nothing is tried with the driver. For tests; it can only make doctor say
// something about other files that the user may read anyway.
System this_system(const std::string& output);

}  // namespace gpuprof::doctor
