// The parts of NCCL's profiler interface, versions 3 to 6, that the collector uses. NCCL looks for
// a table of functions, ncclProfiler_vN, in the library that NCCL_PROFILER_PLUGIN names, and uses
// the newest. The names are ours; order and types of the members are NCCL's.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gpuprof::collect::nccl {

// What NCCL reports, as bits. It asks the plug-in for a mask of them.
enum Kind : std::uint64_t {
  group = 1 << 0,            // the operations of one kernel, after its launch, on the same thread
  collective = 1 << 1,       // one of them
  transfer = 1 << 2,         // a send or receive, likewise
  collective_call = 1 << 9,  // the program's call, before the launch; from version 5
  transfer_call = 1 << 10,
  copied_collective = 1 << 12,  // by copy engines, without a kernel; from version 6
};

constexpr int success = 0;

// Version 3.
struct NamedCollective {
  const char* communicator_name;
  std::uint64_t communicator;
  std::uint64_t sequence;
  const char* function;
  const void* sent;
  void* received;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct NamedTransfer {
  const char* communicator_name;
  std::uint64_t communicator;
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
};

// Versions 4 to 6; version 5 adds a member at the end.
struct Collective {
  std::uint64_t sequence;
  const char* function;
  const void* sent;
  void* received;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* protocol;
};

struct Transfer {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

// From version 5.
struct CollectiveCall {
  const char* function;
  std::size_t count;
  const char* type;
  int root;
  void* stream;
  bool captured;
};

struct TransferCall {
  const char* function;
  std::size_t count;
  const char* type;
  void* stream;
  bool captured;
};

// Version 6.
struct CopiedCollective {
  std::uint64_t sequence;
  const char* function;
  const void* sent;
  void* received;
  std::size_t count;
  int root;
  const char* type;
};

// An event that begins: `Number` is the kind's type. Which member follows is said by the kind.
template <class Number, class Coll, class P2p>
struct Event {
  Number kind;
  void* parent;
  int rank;
  union {
    Coll collective;
    P2p transfer;
    CollectiveCall collective_call;
    TransferCall transfer_call;
    CopiedCollective copied;
  };
};

using Event3 = Event<std::uint8_t, NamedCollective, NamedTransfer>;
using Event4 = Event<std::uint8_t, Collective, Transfer>;
using Event5 = Event<std::uint64_t, Collective, Transfer>;

static_assert(offsetof(Event3, collective) == 24 && offsetof(Event5, collective) == 24);
static_assert(offsetof(NamedCollective, algorithm) == 80 && offsetof(Collective, algorithm) == 64);
static_assert(offsetof(NamedTransfer, peer) == 48 && offsetof(Transfer, channels) == 36);
static_assert(offsetof(CollectiveCall, captured) == 40 && offsetof(TransferCall, captured) == 32);

// What version N's table has after its name: init differs, and the events.
template <class Init, class E>
struct Functions {
  const char* name;
  Init init;
  int (*start_event)(void* context, void** handle, const E* event);
  int (*stop_event)(void* handle);
  int (*record_state)(void* handle, int state, const void* arguments);
  int (*finalize)(void* context);
};

using Init3 = int (*)(void** context, int* mask);
using Init4 = int (*)(void** context, int* mask, const char* name, std::uint64_t communicator,
                      int nodes, int ranks, int rank, void* log);
using Init5 = int (*)(void** context, std::uint64_t communicator, int* mask, const char* name,
                      int nodes, int ranks, int rank, void* log);

}  // namespace gpuprof::collect::nccl
