// The stacks of CPU samples, numbered, and rows of them: what CPU_SAMPLE refers to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/collect/extra/python_threads.hpp"
#include "libprof/collect/extra/stack_unwinder.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {

// Of one trace. Used by one thread.
class CpuStacks {
 public:
  // Where a thread was, and its callers from there on; many places have the same callers.
  struct Numbers {
    std::uint32_t frame = 0;
    std::uint64_t callers = 0;
    bool operator==(const Numbers&) const = default;
  };

  CpuStacks(const CodeModules& modules, const PythonThreads& python)
      : modules_(modules), python_(python) {}

  // `native`: innermost first, within those of Python. Rows of what is new are added to `rows`. 0:
  // there are none, or too many.
  Numbers numbers_of(std::span<const std::uint64_t> native, const PythonSpots& spots,
                     wire::RowSender& rows);
  // Modules have gone: addresses mean something else.
  void forget() { by_address_.clear(); }

 private:
  // Those of CallStacks, LaunchStacks and host::StackNumbers have lower numbers.
  static constexpr std::uint32_t first = 3 << 20;
  static constexpr std::size_t most_functions = 1 << 16, most_stacks = 1 << 16;

  std::uint32_t native_number(std::uint64_t address, wire::RowSender& rows);
  std::uint32_t python_number(const PythonSpot& spot, wire::RowSender& rows);
  std::uint32_t next_number() const { return first + static_cast<std::uint32_t>(functions_); }

  const CodeModules& modules_;
  const PythonThreads& python_;
  std::size_t functions_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> by_address_, by_identity_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint32_t> places_;  // module, offset
  std::unordered_map<std::uint64_t, std::uint32_t> python_functions_;      // by id_of
  std::map<std::vector<std::uint32_t>, std::uint64_t> stacks_;
  std::vector<std::uint32_t> frames_;  // of the stack that is numbered
};

}  // namespace gpuprof::collect
