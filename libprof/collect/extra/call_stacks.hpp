// --stacks: the host functions on the stack of a memory call.
//
// The calling thread unwinds its stack and records the addresses, and the Python functions it is
// in: no locks, no waiting, no allocation. One of our threads resolves the addresses to names.
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

#include "libprof/collect/extra/python_frames.hpp"
#include "libprof/collect/extra/ring.hpp"
#include "libprof/wire/messages.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {

class CallStacks {
 public:
  static std::vector<wire::WireTable> tables();

  // Starts a new trace; nobody may call note() or name() meanwhile. Returns a message for the user,
  // or empty.
  std::string begin();

  // On the calling thread. Of the calls with one correlation id only the first is kept: the
  // runtime's, not the driver calls it makes. Returns whether many stacks are waiting to be named.
  bool note(std::uint32_t correlation_id);

  // What was noted and not yet named.
  struct Named {
    struct Frame {
      std::uint32_t number = 0;
      std::string module, function;
      std::optional<std::uint64_t> offset;  // none for Python
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
  // On one of our threads; reads files.
  Named name();

  // Once: a message about Python frames that cannot be read. On one of our threads.
  std::string take_warning();

  std::uint64_t lost() const { return lost_.load(); }

 private:
  static constexpr std::size_t most_frames = PythonStack::most_frames;
  static constexpr std::size_t most_stacks = 1 << 16, most_python_frames = 1 << 16;

  // Innermost first.
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
  using Seen = std::array<std::atomic<std::uint64_t>, 8192>;  // in transit, by id

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

  // Used only by our thread.
  std::set<std::uint64_t> named_;
  std::map<std::uint64_t, std::uint32_t> natives_;        // by address; 0: gpuprof's own
  std::map<std::uint64_t, std::uint32_t> python_frames_;  // by id
  bool warned_ = false;
  std::uint32_t last_frame_ = 0;
};

}  // namespace gpuprof::collect
