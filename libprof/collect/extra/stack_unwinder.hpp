// The functions on a stack that was copied together with the registers, as from a thread that has
// gone on since. Takes no part in what the thread does, and may be as slow as it likes: so it does
// not run where the copy was made.
//
// What a stack has may be anything. A frame is believed if it is above the one before, on the
// copied part of the stack, and belongs to code of a module. Of code that says nothing of its
// frames, as what is made while the program runs, the frame pointer is tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/collect/extra/frame_rules.hpp"

namespace gpuprof::collect {

// A program or library, as the dynamic loader has it.
struct CodeModule {
  std::uint64_t begin = 0, end = 0;  // from its first executable segment to its last
  std::uint64_t base = 0;            // addresses of its symbols count from here
  std::uint64_t frame_header = 0;    // .eh_frame_hdr; 0: none
  std::string path;
};

class CodeModules {
 public:
  // Asks the dynamic loader, whose lock is held meanwhile: Collector::loader_ before. Returns
  // whether modules may have gone since the last time, so that addresses mean something else.
  bool look();
  // Null: it is in none.
  const CodeModule* at(std::uint64_t address) const;

 private:
  std::vector<CodeModule> modules_;  // in ascending order
  std::uint64_t added_ = 0, removed_ = 0;
};

// Used by one thread.
class StackUnwinder {
 public:
  static constexpr std::size_t most_frames = 256;

  // `read`: how the modules' tables are read.
  StackUnwinder(const CodeModules& modules, ReadBytes read)
      : modules_(modules), read_(std::move(read)) {}

  struct Stack {
    std::uint64_t begin = 0;
    std::span<const std::byte> bytes;
  };
  // Addresses of the functions, innermost first, most_frames of them at most: where the thread was,
  // and then the last byte of each call. Ends before the first in [`until_begin`, `until_end`), and
  // then returns true.
  bool unwind(Registers registers, const Stack& stack, std::uint64_t until_begin,
              std::uint64_t until_end, std::vector<std::uint64_t>& addresses);

  // Modules have gone.
  void forget() { rules_.clear(); }

 private:
  // nullopt: its module has none.
  const std::optional<FrameRule>& rule_of(std::uint64_t address);
  bool step_by_frame_pointer(Registers& registers, const ReadWord& read) const;

  const CodeModules& modules_;
  const ReadBytes read_;
  std::unordered_map<std::uint64_t, std::optional<FrameRule>> rules_;
};

}  // namespace gpuprof::collect
