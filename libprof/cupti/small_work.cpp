#include "libprof/cupti/small_work.hpp"

#include <cuda.h>
#include <dlfcn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include <string>

#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::cupti {
namespace {

// PTX, which the driver compiles for any GPU that is not older. Half a millisecond, so that samples
// are taken in it.
constexpr char kernel[] = R"(
.version 6.0
.target sm_50
.address_size 64
.visible .entry gpuprof_doctor() {
  .reg .pred %again;
  .reg .u64 %begin, %now;
  mov.u64 %begin, %clock64;
again:
  mov.u64 %now, %clock64;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %again, %now, 1000000;
  @%again bra again;
  ret;
}
)";

// The functions of a library, which return 0 if they succeed.
class Calls {
 public:
  Calls() : library_(dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) throw Error(no_driver_library, "", ExitCode::no_driver);
  }
  explicit Calls(const char* library) : library_(dlopen(library, RTLD_NOW | RTLD_GLOBAL)) {
    if (!library_) throw Error(dlerror(), "", ExitCode::internal);
  }

  template <class... Arguments>
  void operator()(const char* name, Arguments... arguments) const {
    const auto call = reinterpret_cast<int (*)(Arguments...)>(dlsym(library_, name));
    const int result = call ? call(arguments...) : CUDA_ERROR_NOT_FOUND;
    if (result == 0) return;
    throw Error(std::string(name) + " returns " + std::to_string(result), "",
                name == std::string("cuInit") ? ExitCode::no_driver : ExitCode::internal);
  }

 private:
  void* library_;
};

// As nccl.h has it, which is not needed to build.
struct NcclId {
  std::array<char, 128> bytes;
};

void take_part(const Calls& nccl, int rank, NcclId id) {
  constexpr int of_floats = 7, sum = 0;  // ncclFloat32, ncclSum
  const Calls call;
  CUcontext context = nullptr;
  CUdeviceptr numbers = 0;
  void* communicator = nullptr;
  call("cuInit", 0U);
  call("cuDevicePrimaryCtxRetain", &context, CUdevice{rank});
  call("cuCtxSetCurrent", context);
  call("cuMemAlloc_v2", &numbers, std::size_t{256});
  nccl("ncclCommInitRank", &communicator, 2, id, rank);
  nccl("ncclAllReduce", reinterpret_cast<const void*>(numbers), reinterpret_cast<void*>(numbers),
       std::size_t{64}, of_floats, sum, communicator, CUstream{nullptr});
  call("cuCtxSynchronize");
}

}  // namespace

void run_collective(const char* library) {
  constexpr unsigned seconds = 10;
  int ids[2];
  if (pipe(ids) != 0) throw Error("there is no pipe", "", ExitCode::internal);
  const pid_t other = fork();  // before either has a thread
  alarm(seconds);
  if (other == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  const Calls nccl(library);
  NcclId id{};
  if (other == 0) {
    if (read(ids[0], &id, sizeof id) != sizeof id) _exit(1);
    take_part(nccl, 1, id);
    return;
  }
  nccl("ncclGetUniqueId", &id);
  if (write(ids[1], &id, sizeof id) != sizeof id) throw Error("a pipe", "", ExitCode::internal);
  take_part(nccl, 0, id);
  int status = 0;
  if (other < 0 || waitpid(other, &status, 0) != other || status != 0) {
    throw Error("the other rank failed", "", ExitCode::internal);
  }
}

void run_kernel_and_graph() {
  const Calls call;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec executable = nullptr;
  call("cuInit", 0U);
  call("cuCtxCreate_v2", &context, 0U, CUdevice{0});
  call("cuModuleLoadData", &module, static_cast<const void*>(kernel));
  call("cuModuleGetFunction", &function, module, "gpuprof_doctor");
  call("cuLaunchKernel", function, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{nullptr},
       static_cast<void**>(nullptr), static_cast<void**>(nullptr));
  CUDA_KERNEL_NODE_PARAMS in_graph{};
  in_graph.func = function;
  in_graph.gridDimX = in_graph.gridDimY = in_graph.gridDimZ = 1;
  in_graph.blockDimX = in_graph.blockDimY = in_graph.blockDimZ = 1;
  call("cuGraphCreate", &graph, 0U);
  call("cuGraphAddKernelNode_v2", &node, graph, static_cast<const CUgraphNode*>(nullptr),
       std::size_t{0}, static_cast<const CUDA_KERNEL_NODE_PARAMS*>(&in_graph));
  call("cuGraphInstantiateWithFlags", &executable, graph, 0ULL);
  call("cuGraphLaunch", executable, CUstream{nullptr});
  call("cuCtxSynchronize");
}

}  // namespace gpuprof::cupti
