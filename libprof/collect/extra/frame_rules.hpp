// How one gets from a function to its caller, at a place in its code: what compilers write into
// .eh_frame (DWARF's call frame information, as the Linux Standard Base has it).
//
// The tables are read through the kernel: a library that has them may go away meanwhile. They may
// be damaged, or anything else; then there is no rule.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace gpuprof::collect {

// The registers that frames refer to, by DWARF's numbers.
struct Registers {
#if defined(__aarch64__)
  static constexpr std::size_t count = 32, frame = 29, stack = 31;
#else
  static constexpr std::size_t count = 17, frame = 6, stack = 7;
#endif
  std::uint64_t instruction = 0;
  std::array<std::uint64_t, count> values{};
};

// false: not all of it can be read.
using ReadBytes = std::function<bool(std::uint64_t from, void* to, std::size_t bytes)>;
using ReadWord = std::function<bool(std::uint64_t from, std::uint64_t& word)>;

// The canonical frame address (CFA) is where the caller's stack ends.
struct FrameRule {
  enum class How : std::uint8_t {
    same,
    unknown,        // there is no caller, if it is that of the return address
    at_offset,      // in memory, at the CFA and `number`
    is_offset,      // the CFA and `number`; of the CFA itself `base` and `number`
    in_register,    // in register `number`
    at_expression,  // in memory, where expression `number` says
    is_expression,
  };
  struct Value {
    How how = How::same;
    std::uint8_t base = 0;
    std::int64_t number = 0;
    bool operator==(const Value&) const = default;
  };

  Value cfa;
  std::array<Value, Registers::count> registers{};
  std::size_t return_register = 0;
  bool is_signal = false;  // the caller was interrupted: its address is not that after a call
  std::vector<std::vector<std::byte>> expressions;
};

// The rule at an address of the module whose .eh_frame_hdr is at `header`. nullopt: there is none.
std::optional<FrameRule> rule_at(std::uint64_t header, std::uint64_t address,
                                 const ReadBytes& read);

// From a function to its caller. `stack` reads what is on the stack. false: there is none, or its
// frame is not there.
bool step_out(const FrameRule& rule, Registers& registers, const ReadWord& stack);

}  // namespace gpuprof::collect
