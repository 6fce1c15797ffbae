// Records of NCCL's operations, as NCCL reports them to the collector, which is its profiler
// plug-in (nccl_abi.hpp).
//
// NCCL reports the operations of a kernel right after it has launched it, on the same thread. So
// they belong to the thread's last launch, whose correlation id CUPTI's callback brought, and to
// the graph node made in it. Only where NCCL reports them on a thread of CUDA's, which it does each
// time a captured graph that needs its proxy is launched, the launch is not known.
//
// Any thread. The functions are on the application's hot path: they take no lock, and allocate
// nothing but the memory of the first communicator. Contexts are numbers, and texts are read only
// as far as there is room for them, so nothing that NCCL passes can do harm.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "libprof/collect/extra/hash_numbers.hpp"
#include "libprof/collect/made_records.hpp"
#include "libprof/collect/nccl_abi.hpp"
#include "libprof/collect/thread_slots.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

// Null, or what a plug-in gave NCCL to pass on with the communicator's events.
using NcclContext = void*;

class NcclOperations {
 public:
  explicit NcclOperations(ThreadSlots& slots) : slots_(slots) {}

  static std::vector<wire::WireTable> tables();

  // What NCCL says of a communicator as it is made. Negative numbers are not known.
  struct Communicator {
    std::uint64_t id = 0;
    const char* name = nullptr;
    int rank = -1;
    int ranks = -1;
  };
  // Null: there are too many, or there is no memory, and its operations are not recorded.
  NcclContext begin(const Communicator& communicator);
  void end(NcclContext context);

  // An event of any version begins. Returns a handle, which NCCL passes on with what follows from
  // the event, or null.
  template <class E>
  void* take(NcclContext context, const E& event);

  // A node of a CUDA graph was made, or cloned from another, by the thread.
  void node_made(ThreadSlots::Thread& thread, std::uint64_t node);
  void node_cloned(ThreadSlots::Thread& thread, std::uint64_t node, std::uint64_t original);

  // Turns records on or off.
  void record(bool on) { on_.store(on, std::memory_order_relaxed); }
  // Operations and nodes for which there was no room.
  std::uint64_t lost() const { return lost_.load(); }

 private:
  static constexpr std::size_t most_communicators = 1024;
  static constexpr std::size_t most_nodes = 1 << 16;
  static constexpr std::size_t most_functions = 12;

  struct Known {
    std::atomic<bool> taken{false};
    std::atomic<std::uint64_t> id{0};
    int rank = -1, ranks = -1;
    decltype(NcclOperationEntry::name) name{};
    std::array<std::atomic<std::uint64_t>, most_functions> sequence{};
  };

  // What is kept of NCCL, in processes that use it alone. Never freed: NCCL may report late.
  struct Memory {
    std::array<Known, most_communicators> communicators;
    HashNumbers<most_nodes> nodes;                                 // of NCCL's kernels
    std::array<std::atomic<std::uint64_t>, most_nodes> sources{};  // the captured ones, by number
  };

  // Null: there is no memory.
  Memory* make_memory();
  // Null: it is no context of ours.
  Known* known(NcclContext context);
  void begin_group();
  // `call`: the handle of the program's call, or another one.
  void write(NcclContext context, const void* call, int rank, NcclOperationEntry entry);
  void add_node(ThreadSlots::Thread& thread, std::uint64_t node, std::uint64_t source);
  // false: there was no room, which is counted.
  template <class T>
  bool add(ThreadSlots::Thread& thread, const T& entry);

  ThreadSlots& slots_;
  std::atomic<Memory*> memory_{nullptr};
  std::atomic<bool> on_{false};
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace gpuprof::collect
