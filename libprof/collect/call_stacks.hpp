// --stacks: the functions of the host that stood above a call for memory.
//
// The calling thread unwinds its stack and notes the addresses: no locks, no waiting, nothing
// allocated. A thread of ours names them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "libprof/collect/ring.hpp"
#include "libprof/wire/messages.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {

class CallStacks {
 public:
  static std::vector<wire::WireTable> tables();

  // For a new trace. Nobody notes or names meanwhile.
  void begin();

  // On the thread that calls. Of one call the first is kept: the runtime's, of those that it makes
  // of the driver.
  void note(std::uint32_t correlation_id);

  // What was noted and not named yet.
  struct Named {
    struct Frame {
      std::uint32_t number = 0;
      std::string module, function;
      std::uint64_t offset = 0;
    };
    struct Entry {
      std::uint64_t stack = 0;
      std::uint32_t position = 0, frame = 0;
    };
    struct Call {
      std::uint32_t correlation = 0;
      std::uint64_t stack = 0;
    };
    std::vector<Frame> frames;
    std::vector<Entry> entries;
    std::vector<Call> calls;

    bool empty() const { return frames.empty() && entries.empty() && calls.empty(); }
    void add_to(wire::RowSender& rows) const;
  };
  // On a thread of ours; reads files.
  Named name();

  std::uint64_t lost() const { return lost_.load(); }

 private:
  static constexpr std::size_t most_frames = 64;
  static constexpr std::size_t most_stacks = 1 << 16;

  struct Stack {
    std::uint64_t id = 0;
    std::size_t count = 0;
    std::array<std::uint64_t, most_frames> addresses{};  // the innermost first
  };

  Ring<Named::Call, 8192> calls_;
  Ring<Stack, 256> stacks_;
  std::array<std::atomic<std::uint32_t>, 256> noted_{};  // correlation ids
  std::array<std::atomic<std::uint64_t>, 8192> seen_{};  // stacks that are on their way, by id
  std::atomic<std::uint64_t> lost_{0};

  // The thread of ours.
  std::set<std::uint64_t> named_;
  std::map<std::uint64_t, std::uint32_t> frames_;  // by address; 0: gpuprof's own
  std::uint32_t last_frame_ = 0;
};

}  // namespace gpuprof::collect
