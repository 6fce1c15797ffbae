// The stand-in for CUDA, as test programs call it. Each function makes the calls, the callbacks and
// the device's work that the real API would, without a device. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

// Which function launches a kernel; the runtime's calls the driver's.
enum class LaunchBy { runtime, driver, driver_ex, runtime_cooperative, driver_cooperative };

struct LaunchShape {
  std::uint32_t grid[3] = {64, 1, 1};
  std::uint32_t block[3] = {256, 1, 1};
  std::uint32_t stream = 0;  // a number; 0 is the null stream
};

extern "C" {

// cuInit. The first call of any kind does it too, and loads what CUDA_INJECTION64_PATH names.
void fake_init();

// cudaLaunchKernel, `times` over; the runtime calls the driver's cuLaunchKernel, as the real does.
void fake_launch(const char* kernel, int times);
// cuLaunchKernel itself, which libraries and Triton use.
void fake_driver_launch(const char* kernel, int times);
// One launch. What CUDA answers: a block of more than 1024 threads is an invalid value (1).
int fake_launch_shape(LaunchBy by, const char* kernel, const LaunchShape& shape);
// cudaGraphLaunch: kernels without a launch call of their own, all with its correlation id.
void fake_graph_launch(const char* kernel, int nodes);
// cuStreamBeginCapture: from now on the thread's launches are calls and no work.
void fake_capture_begin();
void fake_capture_end();
// Of the graph that the thread captured last: adds a node; makes it the child of another graph,
// which clones its nodes; instantiates it, which clones them too; updates what was instantiated
// last with it.
void fake_graph_add(const char* kernel);
void fake_graph_nest();
void fake_graph_instantiate();
void fake_graph_update();
// Launches what the thread instantiated last.
void fake_executable_launch(int times);
// Both.
void fake_captured_launch(int times);
void fake_copy(int kind, std::uint64_t bytes);  // cudaMemcpy; 1 = host to device
void fake_set(std::uint64_t bytes);             // cudaMemset
std::uint64_t fake_malloc(std::uint64_t bytes);
void fake_free(std::uint64_t address);
// cuMemCreate, cuMemRelease, cuMemMap, cuMemSetAccess, cuMemUnmap. 0: there is no memory.
std::uint64_t fake_memory_create(std::uint64_t bytes);
void fake_memory_release(std::uint64_t handle);
void fake_memory_map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle);
void fake_memory_access(std::uint64_t address, std::uint64_t bytes);
void fake_memory_unmap(std::uint64_t address, std::uint64_t bytes);
// cudaHostRegister, for which the runtime calls the driver; and its end, for which it does not.
void fake_host_register(std::uint64_t address, std::uint64_t bytes);
void fake_host_unregister(std::uint64_t address);
// What PyTorch asks around a launch: cudaGetDevice, for which the runtime asks cuCtxGetCurrent,
// cudaStreamIsCapturing with the thread's own default stream, cudaGetLastError; and cudaEventQuery.
void fake_ask();
void fake_synchronize();     // cudaDeviceSynchronize
void fake_profiler_start();  // cudaProfilerStart
void fake_profiler_stop();
void fake_driver_profiler_start();  // cuProfilerStart
void fake_driver_profiler_stop();

// How long a kernel runs on the device, ns (1000).
void fake_kernel_time(std::uint64_t ns);

// cudaSetDevice: the thread's calls go to the device's primary context from now on.
void fake_device_set(int device);
void* fake_context_create();  // on the thread's device; not made current
// The thread's calls go to this context; null: to the primary one of its device.
void fake_context_set(void* context);
// Whether the context that the thread's calls go to is there already.
int fake_has_current_context(void);
void fake_context_destroy(void* context);
// cuGreenCtxCreate, on the thread's device, with that number of instances of each unit of its
// multiprocessors; and a stream in it, whose handle the caller chooses. The driver's context that
// callbacks name is the one that the green context was made from.
void* fake_green_context_create(std::uint32_t instances);
void fake_green_stream_create(void* green, std::uint32_t stream);
// A module with kernels `first` and `second`, or the file that FAKE_CUDA_CUBIN names. Its number.
std::uint32_t fake_module_load();
void fake_module_unload(std::uint32_t module);
// CUPTI gives up by itself.
void fake_state_error();

// Calls of NVTX: the first one of a process loads what NVTX_INJECTION64_PATH names. Events have a
// color, a category and a payload.
void fake_nvtx_push(const char* message);
void fake_nvtx_pop();
void fake_nvtx_mark(const char* message);
// As fake_nvtx_push, with a payload of the layout "Message": an int32 peer, an uint32 operation (of
// the enum that calls 1 send and 2 receive), a uint64 bytes.
void fake_nvtx_push_payload(const char* message, const void* payload, std::size_t size);
}
