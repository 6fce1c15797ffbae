// Source text for the lines that a profile names.
//
// File names come from the profile and are untrusted: files are opened only if the user asked for
// source text, and only if they are named like source files. What is read is printed with the rest
// of the output, escaped like all untrusted text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gpuprof::report {

// Reads each file once, up to a limit on all of them together. Not thread-safe.
class SourceText {
 public:
  // `root`: files are searched only below this folder, by the longest suffix of their path that
  // exists there; empty: by their full path, which must be absolute. `since`: when the run began,
  // ns since 1970; files that changed later are noted.
  SourceText(const std::string& root, std::int64_t since);

  // The line without surrounding blanks, truncated if long; nullopt if it is not available.
  std::optional<std::string> line(const std::string& file, std::int64_t number);
  // Files that changed after the run began.
  const std::vector<std::string>& changed() const { return changed_; }

 private:
  struct Text {
    std::string bytes;
    std::vector<std::size_t> begins;  // line offsets
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
