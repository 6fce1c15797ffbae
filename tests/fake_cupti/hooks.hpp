// What the stand-in driver tells the stand-in CUPTI. The real two talk through the driver's export
// table; here CUPTI hands the driver a table of functions when it is first subscribed to.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake {

// What a CUcontext points to.
struct Context {
  std::uint32_t id;
  std::uint32_t device;
  Context* parent = nullptr;    // of a green context
  std::uint32_t instances = 0;  // of each unit of its multiprocessors; 0: all
};

// A stream's handle is its number, 0 for the null stream; its id is that much higher than this.
inline constexpr std::uint32_t null_stream = 7;

// What a launch is given.
struct Launch {
  std::uint32_t grid[3] = {64, 1, 1};
  std::uint32_t block[3] = {256, 1, 1};
  std::uint32_t stream = 0;
};

// What a call for memory is given, and where it writes what it has got.
struct Memory {
  std::uint64_t* written = nullptr;
  std::uint64_t address = 0, handle = 0, bytes = 0;
  std::uint32_t device = 0;
};

// A call of the CUDA API, from enter to exit.
struct ApiCall {
  bool runtime = false;          // else driver
  bool nested = false;           // a driver call made by a runtime call: shares its correlation id
  bool parent_recorded = false;  // nested: the runtime call has a record of its own
  bool recorded = false;         // set by enter()
  std::uint32_t cbid = 0;
  const char* function = nullptr;
  const char* symbol = nullptr;    // kernel's name, as in CUpti_CallbackData::symbolName
  const Launch* launch = nullptr;  // of a kernel or a graph
  const Memory* memory = nullptr;
  const void* params = nullptr;  // of other calls: what the callback is given
  void* context = nullptr;
  std::uint64_t start = 0;
  std::uint32_t correlation = 0;
  std::uint64_t correlation_data = 0;
};

// A piece of work the device was given. `start` and `end` are when it runs.
struct Work {
  std::uint32_t correlation = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  const char* name = nullptr;  // kernel; lives as long as the process
  Launch launch;
  std::uint64_t own_kernel = 0;  // ns that CUPTI's own kernel ran before `start`
  std::uint64_t graph_node = 0;
  std::uint32_t graph = 0;
  std::uint32_t copy_kind = 0;  // copy: CUpti_ActivityMemcpyKind
  std::uint64_t bytes = 0;      // copy, set
};

struct GraphNode {
  std::uint64_t graph = 0, node = 0;  // handles; 0: none
};

struct Hooks {
  void (*enter)(ApiCall& call);
  void (*exit)(ApiCall& call, std::uint32_t result);
  // Before the work has a time: how long CUPTI's own kernel will run ahead of it, ns.
  std::uint64_t (*own_kernel_time)(std::uint32_t context);
  void (*kernel)(const Work& work);
  void (*copy)(const Work& work);
  void (*set)(const Work& work);
  void (*memory)(bool release, std::uint64_t address, std::uint64_t bytes,
                 std::uint32_t correlation, std::uint32_t context);
  void (*synchronized)(std::uint32_t correlation, std::uint32_t context, std::uint64_t start,
                       std::uint64_t end);
  void (*device)(std::uint32_t device);
  void (*context_created)(void* context, std::uint32_t id, std::uint32_t device);
  void (*context_destroyed)(void* context, std::uint32_t id);
  void (*module_loaded)(void* context, std::uint32_t id, const void* cubin, std::size_t size);
  void (*module_unloaded)(void* context, std::uint32_t id);
  void (*state_error)();
  // The client itself has recorded something of this kind.
  void (*recorded_by_client)(std::uint32_t kind);
  // A node of a graph was created, or, with an original, cloned, or `updated` from it.
  void (*graph_node)(GraphNode node, GraphNode original, bool updated);
};

// The stand-in driver's; null hooks take CUPTI out again. false: another CUPTI is there already.
using SetHooks = bool (*)(const Hooks* hooks);
inline constexpr char set_hooks_name[] = "fake_cuda_set_hooks";

// The stand-in driver's: cuInit is through.
using IsUp = bool (*)();
inline constexpr char is_up_name[] = "fake_cuda_is_up";

// The stand-in driver's: a stream is being captured.
using IsCapturing = bool (*)();
inline constexpr char is_capturing_name[] = "fake_cuda_is_capturing";

}  // namespace fake
