// The stacks that host samples refer to, numbered, as rows of the tables of launch stacks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "libprof/python/function.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::host {

// Of one stream. Used by one thread.
class StackNumbers {
 public:
  // `rows` gets a row for each new frame, and one for each frame of a new stack.
  explicit StackNumbers(wire::RowSender& rows) : rows_(rows) {}

  // 0: there are too many.
  std::uint32_t number_of(const python::PythonFrame& frame);
  // `frames`: innermost first. 0: none, or there are too many.
  std::uint64_t number_of(std::span<const std::uint32_t> frames);

 private:
  // The stacks of calls have numbers below these, or hashes far above.
  static constexpr std::uint32_t first = 1 << 21;
  static constexpr std::size_t most = 1 << 16;

  wire::RowSender& rows_;
  std::map<std::uint64_t, std::uint32_t> frames_;  // by id_of
  std::map<std::vector<std::uint32_t>, std::uint64_t> stacks_;
};

}  // namespace gpuprof::host
