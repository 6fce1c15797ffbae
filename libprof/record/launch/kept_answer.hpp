// What was found out about this machine and costs seconds to find out again: a small file in the
// user's cache folder, believed for as long as the machine runs and nothing about driver, CUPTI,
// user and devices changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::launch {

// Nothing here throws, and no failure matters: then it is found out again. Any thread.
class KeptAnswer {
 public:
  // The file `name` in $XDG_CACHE_HOME/gpuprof or ~/.cache/gpuprof, for these libcuptis. Keeps
  // nothing where the boot or the driver cannot be identified.
  KeptAnswer(std::string_view name, const std::vector<std::string>& cuptis);
  // `circumstances`: what the answer depends on, as text; empty: nothing is kept.
  KeptAnswer(std::string file, std::string circumstances)
      : file_(std::move(file)), circumstances_(std::move(circumstances)) {}

  // nullopt: there is none under these circumstances, or the file is not the user's own and
  // private. The text is as it was written, unless the user has changed it.
  std::optional<std::string> read() const;
  void keep(std::string_view text) const;
  void forget() const;

 private:
  std::string file_;  // empty: there is no place for it
  std::string circumstances_;
};

}  // namespace gpuprof::launch
