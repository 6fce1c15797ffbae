// Source text beside what a profile says of its lines.
//
// The names of the files are in the profile, and so somebody else's: they are opened only where the
// user asked for source text, and only files that are called as source files are. What is read goes
// where the user's other output goes, escaped as all text of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::report {

// Reads each file once, up to a limit on all of them. Belongs to one thread.
class SourceText {
 public:
  // `root`: files are looked for beneath this folder and nowhere else, by as much of the end of
  // their name as is there; empty: by their whole name, which has to begin with a slash.
  // `since`: when the run began, ns since 1970; later changes of a file are noted.
  SourceText(std::string root, std::int64_t since);

  // Without the blanks around it, cut off where it is long; nothing: it is not to be had.
  std::optional<std::string> line(const std::string& file, std::int64_t number);
  // Files that were changed after the run began.
  const std::vector<std::string>& changed() const { return changed_; }

 private:
  struct Text {
    std::string bytes;
    std::vector<std::size_t> begins;  // of lines
  };

  std::optional<std::filesystem::path> find(const std::string& file) const;
  Text read(const std::string& file);

  std::filesystem::path root_;
  bool has_root_ = false;
  std::int64_t since_;
  std::size_t left_;  // bytes that may still be read
  std::map<std::string, Text> files_;
  std::vector<std::string> changed_;
};

}  // namespace gpuprof::report
