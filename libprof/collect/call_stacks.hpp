// --stacks: the functions of the host that stood above a call for memory.
//
// The calling thread unwinds its stack and notes the addresses, and the functions of Python that it
// is in: no locks, no waiting, nothing allocated. A thread of ours names the addresses.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "libprof/collect/python_frames.hpp"
#include "libprof/collect/ring.hpp"
#include "libprof/wire/messages.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {

class CallStacks {
 public:
  static std::vector<wire::WireTable> tables();

  // For a new trace. Nobody notes or names meanwhile. What is to be told; empty: nothing.
  std::string begin();

  // On the thread that calls. Of one call the first is kept: the runtime's, of those that it makes
  // of the driver. Whether many wait to be named.
  bool note(std::uint32_t correlation_id);

  // What was noted and not named yet.
  struct Named {
    struct Frame {
      std::uint32_t number = 0;
      std::string module, function;
      std::optional<std::uint64_t> offset;  // none: of Python
      std::optional<std::uint32_t> line;
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

  // Once: what is to be told of frames of Python that cannot be read. On a thread of ours.
  std::string take_warning();

  std::uint64_t lost() const { return lost_.load(); }

 private:
  static constexpr std::size_t most_frames = 64;
  static constexpr std::size_t most_stacks = 1 << 16, most_python_frames = 1 << 16;

  // The innermost first.
  struct Stack {
    std::uint64_t id = 0;
    std::size_t count = 0, python_count = 0;
    std::array<std::uint64_t, most_frames> addresses{};
    std::array<std::uint64_t, most_frames> python{};  // ids of frames
  };
  struct PythonPlace {
    std::uint64_t id = 0;
    PythonFrame frame;
  };
  using Seen = std::array<std::atomic<std::uint64_t>, 8192>;  // what is on its way, by id

  template <class Take>
  void each_python_frame(std::uint64_t stack_begin, std::uint64_t stack_end, Take&& take);
  bool push_python(std::uint64_t stack_begin, std::uint64_t stack_end);
  void learn(const std::vector<Stack>& stacks, Named& named);
  bool add_entries(const Stack& stack, Named& named) const;

  PythonInterpreter python_;
  Ring<Named::Call, 8192> calls_;
  Ring<Stack, 256> stacks_;
  Ring<PythonPlace, 1024> python_places_;
  std::array<std::atomic<std::uint32_t>, 256> noted_{};  // correlation ids
  Seen seen_{}, seen_python_{};
  std::atomic<std::uint32_t> pushed_{0};
  std::atomic<std::uint64_t> lost_{0};

  // The thread of ours.
  std::set<std::uint64_t> named_;
  std::map<std::uint64_t, std::uint32_t> natives_;        // by address; 0: gpuprof's own
  std::map<std::uint64_t, std::uint32_t> python_frames_;  // by id
  bool warned_ = false;
  std::uint32_t last_frame_ = 0;
};

}  // namespace gpuprof::collect
