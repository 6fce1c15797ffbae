#include "libprof/record/launch/environment.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace gpuprof::launch {
namespace {

constexpr std::string_view variables[] = {
    // CUDA
    "CUDA_AUTO_BOOST",
    "CUDA_BINARY_LOADER_THREAD_COUNT",
    "CUDA_CACHE_DISABLE",
    "CUDA_CACHE_MAXSIZE",
    "CUDA_CACHE_PATH",
    "CUDA_DEVICE_DEFAULT_PERSISTING_L2_CACHE_PERCENTAGE_LIMIT",
    "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS",
    "CUDA_DEVICE_ORDER",
    "CUDA_DEVICE_WAITS_ON_EXCEPTION",
    "CUDA_DISABLE_JIT",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_ENABLE_COREDUMP_ON_EXCEPTION",
    "CUDA_FORCE_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_GRAPHS_USE_NODE_PRIORITY",
    "CUDA_HOME",
    "CUDA_LAUNCH_BLOCKING",
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC",
    "CUDA_MODULE_DATA_LOADING",
    "CUDA_MODULE_LOADING",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_CLIENT_PRIORITY",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_PATH",
    "CUDA_SCALE_LAUNCH_QUEUES",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_TF32_OVERRIDE",
    "NVIDIA_VISIBLE_DEVICES",
    // its libraries
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDNN_CONV_WSCAP_DBG",
    "NCCL_ALGO",
    "NCCL_BUFFSIZE",
    "NCCL_CGA_CLUSTER_SIZE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_CROSS_NIC",
    "NCCL_CUMEM_ENABLE",
    "NCCL_DEBUG",
    "NCCL_DEBUG_SUBSYS",
    "NCCL_GRAPH_REGISTER",
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_LAUNCH_MODE",
    "NCCL_LOCAL_REGISTER",
    "NCCL_MAX_CTAS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MIN_NCHANNELS",
    "NCCL_NET",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NTHREADS",
    "NCCL_NVLS_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_PROTO",
    "NCCL_SHM_DISABLE",
    "NCCL_SOCKET_IFNAME",
    "NCCL_TOPO_FILE",
    // frameworks
    "JAX_PLATFORMS",
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE",
    "TORCH_CUDNN_V8_API_DISABLED",
    "TORCH_NCCL_ASYNC_ERROR_HANDLING",
    "TORCH_NCCL_AVOID_RECORD_STREAMS",
    "TORCH_NCCL_BLOCKING_WAIT",
    "TORCH_NCCL_HIGH_PRIORITY",
    "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    // which process of a job it is
    "GROUP_RANK",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "MASTER_ADDR",
    "MASTER_PORT",
    "NODE_RANK",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_GPUS_ON_NODE",
    "SLURM_JOB_ID",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_LOCALID",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NTASKS",
    "SLURM_PROCID",
    "SLURM_STEP_ID",
    "WORLD_SIZE",
    // the process as a whole
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "PYTHONPATH",
};

constexpr char nccl_variable[] = "NCCL_PROFILER_PLUGIN";
constexpr std::size_t most_nccl_path = 254;  // NCCL cuts off what is longer

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

}  // namespace

std::span<const std::string_view> recorded_variables() { return variables; }

bool names_secret(std::string_view name) {
  constexpr std::array<std::string_view, 7> words{"KEY",  "TOKEN",      "SECRET", "JWT",
                                                  "PASS", "CREDENTIAL", "AUTH"};
  std::string text(name);
  std::ranges::transform(text, text.begin(), upper);
  return std::ranges::any_of(words,
                             [&](std::string_view word) { return text.find(word) != text.npos; });
}

std::vector<std::pair<std::string, std::string>> recorded(const char* const* environment,
                                                          std::span<const std::string_view> names) {
  std::vector<std::pair<std::string, std::string>> found;
  for (; *environment; ++environment) {
    const std::string_view text(*environment);
    const std::size_t equals = text.find('=');
    const std::string_view name = text.substr(0, equals);
    if (equals == text.npos || names_secret(name) || std::ranges::find(names, name) == names.end())
      continue;
    found.emplace_back(name, text.substr(equals + 1));
  }
  return found;
}

std::string displaced_nvtx_tool(const std::string& collector) {
  const char* const named = std::getenv("NVTX_INJECTION64_PATH");
  return named && named != collector ? named : "";
}

std::string nccl_plugin(const std::string& collector) {
  const char* const named = std::getenv(nccl_variable);
  return named && named != collector ? named : "";
}

std::vector<std::string> injection(const std::string& collector, const std::string& socket,
                                   Runtimes runtimes) {
  const auto first_of = [&](const std::string& name, char separator) {
    const char* others = std::getenv(name.c_str());
    return name + "=" + collector + (others && *others ? separator + std::string(others) : "");
  };
  std::vector<std::string> added{"CUDA_INJECTION64_PATH=" + collector,
                                 "NVTX_INJECTION64_PATH=" + collector, "GPUPROF_SOCKET=" + socket};
  if (const char* const other = std::getenv(nccl_variable); !other || !*other) {
    if (collector.size() <= most_nccl_path) added.push_back(nccl_variable + ("=" + collector));
  }
  if (runtimes.openacc) added.push_back(first_of("ACC_PROFLIB", ';'));
  if (runtimes.openmp) added.push_back(first_of("OMP_TOOL_LIBRARIES", ':'));
  return added;
}

}  // namespace gpuprof::launch
