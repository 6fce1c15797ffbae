// Time of GPU work by stream, and by the functions that asked for it or the NVTX ranges around the
// launch: what files and messages of stacks have.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libprof/exchange/export/activities.hpp"
#include "libprof/exchange/export/code_stacks.hpp"
#include "libprof/read/profile.hpp"

namespace gpuprof::exporting {

// Sums by stream and stack: the functions that asked for work, or without these NVTX ranges.
// Memory: the distinct stacks, and CodeStacks. The profile must outlive it.
class WorkStacks {
 public:
  explicit WorkStacks(reading::Profile& profile) : profile_(profile), code_(profile) {}

  // Anything but GPU work is ignored.
  void add(const Activity& activity);

  using Stream = std::array<std::int64_t, 4>;  // device, process, context, stream
  struct Sum {
    std::int64_t time = 0, count = 0;
  };
  struct Stack {
    std::uint32_t code = 0;  // of CodeStacks; 0: none
    std::string path, work;
    auto operator<=>(const Stack&) const = default;
  };
  using Stacks = std::map<Stack, Sum>;

  const std::map<Stream, Stacks>& sums() const { return sums_; }
  // Outermost first, and last the work itself.
  std::vector<StackFrame> frames_of(const Stack& stack) const;
  static std::string device(const Stream& stream) { return "GPU " + std::to_string(stream[0]); }
  std::string stream_name(const Stream& stream) {
    return "stream " + profile_.names().stream(stream[0], stream[2], stream[3]);
  }
  reading::Profile& profile() { return profile_; }

 protected:
  reading::Profile& profile_;
  const CodeStacks code_;
  std::map<Stream, Stacks> sums_;
};

}  // namespace gpuprof::exporting
