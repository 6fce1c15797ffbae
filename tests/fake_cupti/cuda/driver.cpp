// The stand-in libcuda.so.1, with the runtime on top: loads the injection library where the real
// one does, and tells the stand-in CUPTI what is called and what the device does.
//
// FAKE_CUDA_DEVICES: how many devices there are (1; 16 at most). FAKE_CUDA_INIT: the error that
// cuInit returns. FAKE_CUDA_HANG: cuInit does not return. FAKE_CUDA_EVENT_THREAD: there is a thread
// that waits in poll without end, as the real driver has one. CUDA's own headers are left out:
// the functions here have the names, and not the many names, of the real ones.
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <elf.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace {

constexpr int success = 0;
constexpr int invalid_value = 1;
constexpr int out_of_memory = 2;
constexpr int not_initialized = 3;
constexpr int deinitialized = 4;

using fake::Context;

constexpr int most_devices = 16;
constexpr std::uint32_t most_threads_of_block = 1024;

// A device, with the runtime's context on it: made by the first call that needs it.
struct Device {
  std::once_flag once;
  std::atomic<Context*> primary{nullptr};
  std::uint64_t busy_until = 0;  // guarded by the driver's mutex
  std::uint64_t used = 0;        // bytes; so is this
};

// What a context and a module take of the device.
constexpr std::uint64_t context_bytes = 256 << 20;
constexpr std::uint64_t module_bytes = 1 << 20;

// Memory that cuMemCreate made: there while it has a handle or is mapped.
struct Made {
  std::uint64_t bytes = 0;
  std::uint32_t device = 0;
  int holders = 1;
};
struct Mapped {
  std::uint64_t handle, bytes;
};

// Never destroyed: threads outlive static destructors.
struct Driver {
  std::once_flag init;
  std::atomic<pid_t> owner{0};  // the process that called cuInit
  std::atomic<bool> up{false};
  std::atomic<bool> torn_down{false};
  std::atomic<const fake::Hooks*> hooks{nullptr};

  std::mutex mutex;
  std::vector<std::unique_ptr<Context>> contexts;
  std::uint32_t last_context = 0;
  std::uint32_t last_module = 0;
  Device devices[most_devices];
  std::uint64_t kernel_time = 1000;
  std::uint64_t next_address = 0x7f0000000000;
  std::map<std::uint64_t, std::uint64_t> allocations;
  std::uint64_t last_handle = 0;
  std::map<std::uint64_t, Made> made;      // by handle
  std::map<std::uint64_t, Mapped> mapped;  // by address
  // Two texts of one name: the real ones are two as well.
  std::map<std::string, std::pair<const char*, const char*>, std::less<>> names;
  std::uint32_t graphs = 0;
  std::atomic<std::uint64_t> nodes{0};  // that were captured or cloned
  std::atomic<int> captures{0};
};

Driver& driver() {
  static Driver* const it = new Driver;
  return *it;
}

const fake::Hooks* hooks() { return driver().hooks.load(std::memory_order_acquire); }

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void wait_until(std::uint64_t moment) {
  for (std::uint64_t at = now(); at < moment; at = now()) {
    const std::uint64_t left = moment - at;
    const timespec time{static_cast<time_t>(left / 1'000'000'000),
                        static_cast<long>(left % 1'000'000'000)};
    nanosleep(&time, nullptr);
  }
}

int device_count() {
  const char* text = std::getenv("FAKE_CUDA_DEVICES");
  return text ? std::clamp(std::atoi(text), 0, most_devices) : 1;
}

// The calling thread's: the context it made current, else the primary one of its device.
thread_local Context* current_context = nullptr;
thread_local std::uint32_t current_device = 0;
thread_local bool capturing = false;
// Nodes and the names of their kernels: of the graph that was captured last, and of the one that
// was instantiated last.
using GraphNodes = std::vector<std::pair<fake::GraphNode, const char*>>;
thread_local GraphNodes captured, executable;
thread_local std::uint32_t executable_graph = 0;
thread_local std::uint64_t captured_in = 0;  // the graph of `captured`

// The thread's outermost runtime call, for the driver calls inside.
thread_local fake::ApiCall* runtime_call = nullptr;

class Call {
 public:
  // In stacks the function that is called stands first.
  [[gnu::always_inline]] Call(bool runtime, std::uint32_t cbid, const char* function,
                              const char* symbol = nullptr, const fake::Launch* launch = nullptr,
                              const fake::Memory* memory = nullptr, const void* params = nullptr) {
    call_.memory = memory;
    call_.params = params;
    call_.runtime = runtime;
    call_.cbid = cbid;
    call_.function = function;
    call_.symbol = symbol;
    call_.launch = launch;
    Context* const context =
        current_context ? current_context : driver().devices[current_device].primary.load();
    call_.context = context && context->parent ? context->parent : context;
    if (runtime_call) {
      call_.nested = true;
      call_.parent_recorded = runtime_call->recorded;
      call_.correlation = runtime_call->correlation;
    }
    call_.start = now();
    if (runtime) runtime_call = &call_;
    hooks_ = hooks();
    if (hooks_) hooks_->enter(call_);
  }
  ~Call() {
    if (hooks_) hooks_->exit(call_, result_);
    if (call_.runtime) runtime_call = nullptr;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  std::uint32_t correlation() const { return call_.correlation; }
  int fail(int result) {
    result_ = static_cast<std::uint32_t>(result);
    return result;
  }

 private:
  fake::ApiCall call_;
  const fake::Hooks* hooks_ = nullptr;
  std::uint32_t result_ = 0;
};

#define RUNTIME_CALL(name, version) \
  Call call(true, CUPTI_RUNTIME_TRACE_CBID_##name##_##version, #name)
#define DRIVER_CALL(name) Call call(false, CUPTI_DRIVER_TRACE_CBID_##name, #name)
#define DRIVER_CALL_INSIDE(name) Call inside(false, CUPTI_DRIVER_TRACE_CBID_##name, #name)

#define MEMORY_CALL(runtime, cbid, name, memory) \
  Call call(runtime, CUPTI_##cbid, name, nullptr, nullptr, &(memory))

std::uint64_t device_bytes() {
  const char* text = std::getenv("FAKE_CUDA_MEMORY");
  return text ? std::strtoull(text, nullptr, 10) : std::uint64_t{80} << 30;
}

// Under the driver's mutex. false: the device has not so much.
bool take(std::uint32_t device, std::uint64_t bytes) {
  std::uint64_t& used = driver().devices[device].used;
  if (bytes > device_bytes() - std::min(used, device_bytes())) return false;
  used += bytes;
  return true;
}

Context* create_context(std::uint32_t device, Context* parent = nullptr,
                        std::uint32_t instances = 0) {
  Context* context;
  {
    const std::lock_guard lock(driver().mutex);
    take(device, context_bytes);
    driver().contexts.push_back(
        std::make_unique<Context>(Context{++driver().last_context, device, parent, instances}));
    context = driver().contexts.back().get();
  }
  if (const auto* table = hooks()) table->context_created(context, context->id, device);
  return context;
}

Context* current() {
  if (current_context) return current_context;
  const std::uint32_t number = current_device;
  Device& device = driver().devices[number];
  std::call_once(device.once, [&] { device.primary.store(create_context(number)); });
  return device.primary.load();
}

// The process can use CUDA: it called cuInit itself and the driver has not been taken down.
int state() {
  if (driver().owner.load() != getpid()) return not_initialized;
  return driver().torn_down.load() ? deinitialized : success;
}

void* wait_for_events(void*) {
  int ends[2];
  if (pipe(ends) != 0) return nullptr;
  pollfd events{ends[0], POLLIN, 0};
  while (poll(&events, 1, -1) < 0 && errno == EINTR) {
  }
  return nullptr;
}

void start_event_thread() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  if (pthread_create(&thread, nullptr, wait_for_events, nullptr) == 0) {
    pthread_setname_np(thread, "cuda00001400006");
    pthread_detach(thread);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void initialize() {
  if (std::getenv("FAKE_CUDA_EVENT_THREAD")) start_event_thread();
  // A fork must not leave the child with a mutex that another thread held.
  pthread_atfork([] { driver().mutex.lock(); }, [] { driver().mutex.unlock(); },
                 [] { driver().mutex.unlock(); });
  driver().owner.store(getpid());
  // Behind the injection library's own handler, which is registered later and runs earlier.
  std::atexit([] { driver().torn_down.store(true); });
  if (const char* path = std::getenv("CUDA_INJECTION64_PATH"); path && *path) {
    if (void* library = dlopen(path, RTLD_NOW)) {
      if (auto* entry = reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))) entry();
    }
  }
  if (const auto* table = hooks()) {
    for (int device = 0; device < device_count(); ++device) {
      table->device(static_cast<std::uint32_t>(device));
    }
  }
  driver().up.store(true);
}

// In a forked child the first call is answered with an error and nothing is initialised again.
int ready() {
  std::call_once(driver().init, initialize);
  return state();
}

std::pair<const char*, const char*> names_of(const char* kernel) {
  const std::lock_guard lock(driver().mutex);
  auto found = driver().names.find(kernel);
  if (found == driver().names.end()) {
    found = driver().names.emplace(kernel, std::pair(strdup(kernel), strdup(kernel))).first;
  }
  return found->second;
}

// Gives the device something to do, `after` ns of something else; it does one thing after the
// other.
void schedule(fake::Work& work, std::uint64_t duration, std::uint64_t after = 0) {
  const std::lock_guard lock(driver().mutex);
  std::uint64_t& busy_until = driver().devices[work.device].busy_until;
  work.start = std::max(now() + 100, busy_until) + after;
  work.end = work.start + duration;
  busy_until = work.end;
}

fake::Work work_of(const Call& call) {
  fake::Work work;
  work.correlation = call.correlation();
  work.context = current()->id;
  work.device = current()->device;
  work.stream = fake::null_stream;
  return work;
}

void run_kernel(const Call& call, const char* name, const fake::Launch& launch = {},
                std::uint32_t graph = 0, std::uint64_t node = 0) {
  const auto* table = hooks();
  fake::Work work = work_of(call);
  work.name = name;
  work.launch = launch;
  work.stream += launch.stream;
  work.graph = graph;
  work.graph_node = node;
  if (table) work.own_kernel = table->own_kernel_time(work.context);
  schedule(work, driver().kernel_time, work.own_kernel);
  if (table) table->kernel(work);
}

void run_graph(const Call& call, const char* name, const fake::Launch& launch, int nodes) {
  const std::uint32_t graph = ++driver().graphs;
  for (int node = 0; node < nodes; ++node) {
    run_kernel(call, name, launch, graph,
               (std::uint64_t{graph} << 32) + static_cast<unsigned>(node) + 1);
  }
}

std::uint64_t busy_until() {
  const Context* context = current();
  const std::lock_guard lock(driver().mutex);
  return driver().devices[context->device].busy_until;
}

struct LaunchCalls {
  std::uint32_t runtime;
  const char* runtime_name;  // null: the driver's function is called by itself
  std::uint32_t driver;
  const char* driver_name;
};

LaunchCalls calls_of(LaunchBy by) {
  const LaunchCalls kernel{CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel",
                           CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel"};
  const LaunchCalls cooperative{
      CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000, "cudaLaunchCooperativeKernel",
      CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, "cuLaunchCooperativeKernel"};
  switch (by) {
    case LaunchBy::runtime: return kernel;
    case LaunchBy::runtime_cooperative: return cooperative;
    case LaunchBy::driver: return {0, nullptr, kernel.driver, kernel.driver_name};
    case LaunchBy::driver_cooperative:
      return {0, nullptr, cooperative.driver, cooperative.driver_name};
    default: return {0, nullptr, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, "cuLaunchKernelEx"};
  }
}

fake::GraphNode make_node(std::uint64_t graph, fake::GraphNode original = {}) {
  const fake::GraphNode node{graph, ++driver().nodes + 0x1000};
  const auto* table = hooks();
  if (table) table->graph_node(node, {}, false);
  if (table && original.node) table->graph_node(node, original, false);
  return node;
}

void capture(const char* name) { captured.emplace_back(make_node(captured_in), name); }

// The driver's function; `unable`: what it answers.
int launch_by_driver(const LaunchCalls& calls, const char* symbol, const char* name,
                     const fake::Launch& launch, int unable) {
  Call call(false, calls.driver, calls.driver_name, symbol, &launch);
  const auto [x, y, z] = launch.block;
  if (unable == success && x * y * z > most_threads_of_block) unable = invalid_value;
  if (unable) return call.fail(unable);
  capturing ? capture(name) : run_kernel(call, name, launch);
  return success;
}

int launch_kernel(LaunchBy by, const char* symbol, const char* name, const fake::Launch& launch,
                  int unable) {
  const LaunchCalls calls = calls_of(by);
  if (!calls.runtime_name) return launch_by_driver(calls, symbol, name, launch, unable);
  Call outer(true, calls.runtime, calls.runtime_name, symbol, &launch);
  if (unable) return outer.fail(unable);
  // CUPTI's own question, which shows as a driver call wherever that is collected.
  { DRIVER_CALL(cuKernelGetName); }
  return outer.fail(launch_by_driver(calls, symbol, name, launch, success));
}

int launch_times(LaunchBy by, const char* kernel, const fake::Launch& launch, int times) {
  const int unable = ready();
  if (unable == success) current();
  const auto [symbol, name] = names_of(kernel);
  int result = success;
  for (int i = 0; i < times; ++i) result = launch_kernel(by, symbol, name, launch, unable);
  return result;
}

// An ELF with nothing but the names of two functions' sections, or what a test wants instead.
std::string wanted_cubin() {
  if (const char* file = std::getenv("FAKE_CUDA_CUBIN")) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static constexpr char names[] = "\0.shstrtab\0.text.first\0.text.second";
  Elf64_Ehdr header{};
  Elf64_Shdr sections[4]{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 4;
  header.e_shstrndx = 1;
  sections[1].sh_name = 1;
  sections[1].sh_offset = sizeof header + sizeof sections;
  sections[1].sh_size = sizeof names;
  sections[2].sh_name = 11;
  sections[3].sh_name = 23;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes.append(reinterpret_cast<const char*>(sections), sizeof sections);
  return bytes.append(names, sizeof names);
}

}  // namespace

const fake::Hooks* fake_cuda_hooks() { return hooks(); }

extern "C" {

bool fake_cuda_set_hooks(const fake::Hooks* table) {
  const fake::Hooks* none = nullptr;
  if (!table) {
    driver().hooks.store(nullptr);
    return true;
  }
  if (!driver().hooks.compare_exchange_strong(none, table)) return false;
  if (!driver().up.load()) return true;
  // CUPTI knows what is there when it is loaded late.
  for (int device = 0; device < device_count(); ++device) {
    table->device(static_cast<std::uint32_t>(device));
  }
  const std::lock_guard lock(driver().mutex);
  for (const auto& context : driver().contexts) {
    table->context_created(context.get(), context->id, context->device);
  }
  return true;
}

bool fake_cuda_is_up() { return driver().up.load(); }
bool fake_cuda_is_capturing() { return driver().captures.load() > 0; }

int cuInit(unsigned) {
  if (std::getenv("FAKE_CUDA_HANG")) pause();
  if (const char* code = std::getenv("FAKE_CUDA_INIT")) return std::atoi(code);
  return ready();
}

int cuDriverGetVersion(int* version) {
  DRIVER_CALL(cuDriverGetVersion);
  const char* told = std::getenv("FAKE_CUDA_VERSION");
  *version = told ? std::atoi(told) : 13000;
  return success;
}

int cuDeviceGetName(char* name, int size, int) {
  DRIVER_CALL(cuDeviceGetName);
  const char* told = std::getenv("FAKE_CUDA_NAME");
  std::snprintf(name, static_cast<std::size_t>(size), "%s", told ? told : "Stand-in GPU");
  return success;
}

int cuDeviceGetCount(int* count) {
  DRIVER_CALL(cuDeviceGetCount);
  *count = device_count();
  return success;
}

int cuDeviceGetAttribute(int* value, int attribute, int device) {
  DRIVER_CALL(cuDeviceGetAttribute);
  if (attribute < 1 || attribute > 120 || device >= device_count()) return call.fail(1);
  *value = 10 * attribute + device;
  return success;
}

int cuCtxSetCurrent(void* context) {
  DRIVER_CALL(cuCtxSetCurrent);
  if (state() == success) current_context = static_cast<Context*>(context);
  return call.fail(state());
}

int cuCtxGetCurrent(void** context) {
  DRIVER_CALL(cuCtxGetCurrent);
  *context = state() != success ? nullptr
             : current_context  ? current_context
                                : driver().devices[current_device].primary.load();
  return call.fail(state());
}

int cuCtxGetDevice(int* device) {
  DRIVER_CALL(cuCtxGetDevice);
  if (state() == success) *device = static_cast<int>(current()->device);
  return call.fail(state());
}

int cuDevicePrimaryCtxGetState(int device, unsigned* flags, int* active) {
  DRIVER_CALL(cuDevicePrimaryCtxGetState);
  *flags = 0;
  *active = driver().devices[device].primary.load() != nullptr;
  return call.fail(state());
}

int cuDevicePrimaryCtxRetain(void** context, int device) {
  DRIVER_CALL(cuDevicePrimaryCtxRetain);
  *context = driver().devices[device].primary.load();
  return call.fail(state());
}

int cuDevicePrimaryCtxRelease_v2(int) {
  DRIVER_CALL(cuDevicePrimaryCtxRelease_v2);
  return call.fail(state());
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  DRIVER_CALL(cuMemAlloc_v2);
  if (state() != success) return call.fail(state());
  const std::lock_guard lock(driver().mutex);
  *address = driver().next_address;
  driver().next_address += (bytes + 511) / 512 * 512;
  return success;
}

int cuMemFree_v2(std::uint64_t) {
  DRIVER_CALL(cuMemFree_v2);
  return call.fail(state());
}

int cuMemsetD8_v2(std::uint64_t, unsigned char, std::size_t bytes) {
  DRIVER_CALL(cuMemsetD8_v2);
  if (state() != success) return call.fail(state());
  fake::Work work = work_of(call);
  work.bytes = bytes;
  schedule(work, 300);
  if (const auto* table = hooks()) table->set(work);
  return success;
}

int cuCtxSynchronize() {
  DRIVER_CALL(cuCtxSynchronize);
  if (state() != success) return call.fail(state());
  const std::uint64_t start = now();
  wait_until(busy_until());
  if (const auto* table = hooks()) {
    table->synchronized(call.correlation(), current()->id, start, now());
  }
  return success;
}

// A module's kernels have any name that they are asked for by.
int cuModuleLoadData(const char** module, const void*) {
  *module = "module";
  return state();
}

int cuModuleGetFunction(const char** function, const char*, const char* name) {
  *function = names_of(name).second;
  return state();
}

int cuLaunchKernel(const char* function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                   unsigned block_y, unsigned block_z, unsigned, void*, void**, void**) {
  fake::Launch launch;
  const unsigned grid[] = {x, y, z};
  const unsigned block[] = {block_x, block_y, block_z};
  std::copy_n(grid, 3, launch.grid);
  std::copy_n(block, 3, launch.block);
  return launch_times(LaunchBy::driver, function, launch, 1);
}

// A graph of the stand-in has one node, a kernel, and is its own executable.
struct OneNodeGraph {
  const char* kernel = nullptr;
};

int cuGraphCreate(OneNodeGraph** graph, unsigned) {
  *graph = new OneNodeGraph;
  return state();
}

int cuGraphAddKernelNode_v2(void** node, OneNodeGraph* graph, const void*, std::size_t,
                            const char* const* params) {
  *node = graph;
  graph->kernel = *params;  // the function comes first
  return state();
}

int cuGraphInstantiateWithFlags(OneNodeGraph** executable, OneNodeGraph* graph,
                                unsigned long long) {
  *executable = graph;
  return state();
}

int cuGraphLaunch(OneNodeGraph* graph, void*) {
  if (ready() != success) return state();
  current();
  const fake::Launch launch;
  Call call(false, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch", nullptr, &launch);
  run_graph(call, graph->kernel, launch, 1);
  return success;
}

int cuProfilerStart() {
  if (ready() != success) return state();
  DRIVER_CALL(cuProfilerStart);
  return success;
}

int cuProfilerStop() {
  if (ready() != success) return state();
  DRIVER_CALL(cuProfilerStop);
  return success;
}

void fake_init() { cuInit(0); }
void fake_driver_profiler_start() { cuProfilerStart(); }
void fake_driver_profiler_stop() { cuProfilerStop(); }

void fake_profiler_start() {
  ready();
  RUNTIME_CALL(cudaProfilerStart, v4000);
  cuProfilerStart();
}

void fake_profiler_stop() {
  ready();
  RUNTIME_CALL(cudaProfilerStop, v4000);
  cuProfilerStop();
}

void fake_driver_launch(const char* kernel, int times) {
  launch_times(LaunchBy::driver, kernel, {}, times);
}

void fake_launch(const char* kernel, int times) {
  launch_times(LaunchBy::runtime, kernel, {}, times);
}

int fake_launch_shape(LaunchBy by, const char* kernel, const LaunchShape& shape) {
  fake::Launch launch;
  std::copy_n(shape.grid, 3, launch.grid);
  std::copy_n(shape.block, 3, launch.block);
  launch.stream = shape.stream;
  return launch_times(by, kernel, launch, 1);
}

void fake_graph_launch(const char* kernel, int nodes) {
  if (ready() != success) return;
  current();
  const char* name = names_of(kernel).second;
  const fake::Launch launch;
  Call outer(true, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch", nullptr,
             &launch);
  Call call(false, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch", nullptr, &launch);
  run_graph(call, name, launch, nodes);
}

void fake_capture_begin() {
  if (ready() != success || capturing) return;
  current();
  DRIVER_CALL(cuStreamBeginCapture_v2);
  capturing = true;
  captured.clear();
  captured_in = ++driver().nodes;
  driver().captures.fetch_add(1);
}

void fake_capture_end() {
  if (!capturing) return;
  DRIVER_CALL(cuStreamEndCapture);
  capturing = false;
  driver().captures.fetch_sub(1);
}

void fake_graph_add(const char* kernel) {
  RUNTIME_CALL(cudaGraphAddKernelNode, v10000);
  captured.emplace_back(make_node(captured_in), names_of(kernel).second);
}

void fake_graph_nest() {
  RUNTIME_CALL(cudaGraphAddChildGraphNode, v10000);
  captured_in = ++driver().nodes;
  for (auto& [node, name] : captured) node = make_node(captured_in, node);
}

void fake_graph_instantiate() {
  if (ready() != success) return;
  RUNTIME_CALL(cudaGraphInstantiate, v12000);
  executable.clear();
  const std::uint64_t graph = ++driver().nodes;
  for (const auto& [node, name] : captured) executable.emplace_back(make_node(graph, node), name);
  executable_graph = ++driver().graphs;
}

void fake_graph_update() {
  RUNTIME_CALL(cudaGraphExecUpdate, v10020);
  const auto* table = hooks();
  for (std::size_t i = 0; i < std::min(executable.size(), captured.size()); ++i) {
    executable[i].second = captured[i].second;
    if (table) table->graph_node(executable[i].first, captured[i].first, true);
  }
}

void fake_captured_launch(int times) {
  fake_graph_instantiate();
  fake_executable_launch(times);
}

void fake_executable_launch(int times) {
  if (ready() != success) return;
  current();
  for (int i = 0; i < times; ++i) {
    const fake::Launch launch;
    Call outer(true, CUPTI_RUNTIME_TRACE_CBID_cudaGraphLaunch_v10000, "cudaGraphLaunch", nullptr,
               &launch);
    Call call(false, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, "cuGraphLaunch", nullptr, &launch);
    for (const auto& [node, name] : executable) {
      run_kernel(call, name, launch, executable_graph, node.node);
    }
  }
}

void fake_copy(int kind, std::uint64_t bytes) {
  if (ready() != success) return;
  current();
  RUNTIME_CALL(cudaMemcpy, v3020);
  fake::Work work = work_of(call);
  work.copy_kind = static_cast<std::uint32_t>(kind);
  work.bytes = bytes;
  schedule(work, 500);
  if (const auto* table = hooks()) table->copy(work);
}

void fake_set(std::uint64_t bytes) {
  if (ready() != success) return;
  current();
  RUNTIME_CALL(cudaMemset, v3020);
  fake::Work work = work_of(call);
  work.bytes = bytes;
  schedule(work, 300);
  if (const auto* table = hooks()) table->set(work);
}

std::uint64_t fake_malloc(std::uint64_t bytes) {
  if (ready() != success) return 0;
  current();
  std::uint64_t address = 0;
  const fake::Memory memory{.written = &address, .bytes = bytes};
  MEMORY_CALL(true, RUNTIME_TRACE_CBID_cudaMalloc_v3020, "cudaMalloc", memory);
  bool there;
  {
    const std::lock_guard lock(driver().mutex);
    there = take(current()->device, bytes);
  }
  if (!there) {
    // The runtime asked the driver.
    Call inside(false, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, "cuMemAlloc_v2", nullptr, nullptr,
                &memory);
    inside.fail(out_of_memory);
    call.fail(out_of_memory);
    return 0;
  }
  {
    const std::lock_guard lock(driver().mutex);
    address = driver().next_address;
    driver().next_address += (bytes + 511) / 512 * 512;
    driver().allocations[address] = bytes;
  }
  if (const auto* table = hooks()) {
    table->memory(false, address, bytes, call.correlation(), current()->id);
  }
  return address;
}

void fake_free(std::uint64_t address) {
  if (ready() != success) return;
  current();
  RUNTIME_CALL(cudaFree, v3020);
  std::uint64_t bytes;
  {
    const std::lock_guard lock(driver().mutex);
    bytes = driver().allocations[address];
    driver().allocations.erase(address);
    driver().devices[current()->device].used -= bytes;
  }
  if (const auto* table = hooks()) {
    table->memory(true, address, bytes, call.correlation(), current()->id);
  }
}

int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  DRIVER_CALL(cuMemGetInfo_v2);
  const std::uint32_t device = current()->device;
  const std::lock_guard lock(driver().mutex);
  *total = device_bytes();
  *free = *total - std::min<std::size_t>(*total, driver().devices[device].used);
  return success;
}

std::uint64_t fake_memory_create(std::uint64_t bytes) {
  if (ready() != success) return 0;
  std::uint64_t handle = 0;
  const std::uint32_t device = current()->device;
  const fake::Memory memory{.written = &handle, .bytes = bytes, .device = device};
  MEMORY_CALL(false, DRIVER_TRACE_CBID_cuMemCreate, "cuMemCreate", memory);
  const std::lock_guard lock(driver().mutex);
  if (!take(device, bytes)) {
    call.fail(out_of_memory);
    return 0;
  }
  handle = ++driver().last_handle;
  driver().made[handle] = {bytes, device, 1};
  return handle;
}

// Under the driver's mutex.
void let_go(std::uint64_t handle) {
  Made& made = driver().made[handle];
  if (--made.holders > 0) return;
  driver().devices[made.device].used -= made.bytes;
  driver().made.erase(handle);
}

void fake_memory_release(std::uint64_t handle) {
  const fake::Memory memory{.handle = handle};
  MEMORY_CALL(false, DRIVER_TRACE_CBID_cuMemRelease, "cuMemRelease", memory);
  const std::lock_guard lock(driver().mutex);
  let_go(handle);
}

void fake_memory_map(std::uint64_t address, std::uint64_t bytes, std::uint64_t handle) {
  const fake::Memory memory{.address = address, .handle = handle, .bytes = bytes};
  MEMORY_CALL(false, DRIVER_TRACE_CBID_cuMemMap, "cuMemMap", memory);
  const std::lock_guard lock(driver().mutex);
  driver().mapped[address] = {handle, bytes};
  ++driver().made[handle].holders;
}

// As on an H200: CUPTI has a record then of each mapping, as of an allocation.
void fake_memory_access(std::uint64_t address, std::uint64_t bytes) {
  DRIVER_CALL(cuMemSetAccess);
  const auto* const table = hooks();
  if (!table) return;
  const std::lock_guard lock(driver().mutex);
  for (auto mapping = driver().mapped.lower_bound(address);
       mapping != driver().mapped.end() && mapping->first < address + bytes; ++mapping) {
    table->memory(false, mapping->first, mapping->second.bytes, call.correlation(), current()->id);
  }
}

void fake_memory_unmap(std::uint64_t address, std::uint64_t bytes) {
  const fake::Memory memory{.address = address, .bytes = bytes};
  MEMORY_CALL(false, DRIVER_TRACE_CBID_cuMemUnmap, "cuMemUnmap", memory);
  const std::lock_guard lock(driver().mutex);
  auto mapping = driver().mapped.lower_bound(address);
  while (mapping != driver().mapped.end() && mapping->first < address + bytes) {
    let_go(mapping->second.handle);
    mapping = driver().mapped.erase(mapping);
  }
}

void fake_host_register(std::uint64_t address, std::uint64_t bytes) {
  if (ready() != success) return;
  current();
  const fake::Memory memory{.address = address, .bytes = bytes};
  MEMORY_CALL(true, RUNTIME_TRACE_CBID_cudaHostRegister_v4000, "cudaHostRegister", memory);
  Call inside(false, CUPTI_DRIVER_TRACE_CBID_cuMemHostRegister_v2, "cuMemHostRegister_v2", nullptr,
              nullptr, &memory);
}

void fake_host_unregister(std::uint64_t address) {
  const fake::Memory memory{.address = address};
  MEMORY_CALL(true, RUNTIME_TRACE_CBID_cudaHostUnregister_v4000, "cudaHostUnregister", memory);
}

void fake_ask() {
  if (ready() != success) return;
  current();
  {
    RUNTIME_CALL(cudaGetDevice, v3020);
    DRIVER_CALL_INSIDE(cuCtxGetCurrent);
  }
  { RUNTIME_CALL(cudaStreamIsCapturing_ptsz, v10000); }
  { RUNTIME_CALL(cudaGetLastError, v3020); }
  { RUNTIME_CALL(cudaEventQuery, v3020); }
}

void fake_synchronize() {
  if (ready() != success) return;
  current();
  RUNTIME_CALL(cudaDeviceSynchronize, v3020);
  DRIVER_CALL_INSIDE(cuCtxSynchronize);
  const std::uint64_t start = now();
  wait_until(busy_until());
  if (const auto* table = hooks()) {
    table->synchronized(call.correlation(), current()->id, start, now());
  }
}

void fake_kernel_time(std::uint64_t ns) {
  const std::lock_guard lock(driver().mutex);
  driver().kernel_time = ns;
}

void* fake_context_create() {
  if (ready() != success) return nullptr;
  DRIVER_CALL(cuCtxCreate_v2);
  return create_context(current_device);
}

void* fake_green_context_create(std::uint32_t instances) {
  if (ready() != success) return nullptr;
  void* made = nullptr;
  const struct {
    void** context;
    void* description;
    int device;
    unsigned flags;
  } params{&made, nullptr, static_cast<int>(current_device), 1};
  Call call(false, CUPTI_DRIVER_TRACE_CBID_cuGreenCtxCreate, "cuGreenCtxCreate", nullptr, nullptr,
            nullptr, &params);
  made = create_context(current_device, current(), instances);
  return made;
}

void fake_green_stream_create(void* green, std::uint32_t stream) {
  std::uintptr_t made = 0;
  const struct {
    std::uintptr_t* stream;
    void* green;
    unsigned flags;
    int priority;
  } params{&made, green, 1, 0};
  Call call(false, CUPTI_DRIVER_TRACE_CBID_cuGreenCtxStreamCreate, "cuGreenCtxStreamCreate",
            nullptr, nullptr, nullptr, &params);
  made = stream;
}

int cuCtxCreate_v2(void** context, unsigned, int device) {
  fake_device_set(device);
  *context = fake_context_create();
  current_context = static_cast<Context*>(*context);
  return *context ? success : invalid_value;
}

int fake_has_current_context() {
  return current_context || driver().devices[current_device].primary.load();
}

void fake_context_set(void* context) { cuCtxSetCurrent(context); }

void fake_device_set(int device) {
  if (device < 0 || device >= device_count()) return;
  current_device = static_cast<std::uint32_t>(device);
  current_context = nullptr;
}

void fake_context_destroy(void* context) {
  DRIVER_CALL(cuCtxDestroy_v2);
  if (current_context == context) current_context = nullptr;
  if (const auto* table = hooks()) {
    table->context_destroyed(context, static_cast<Context*>(context)->id);
  }
}

std::uint32_t fake_module_load() {
  if (ready() != success) return 0;
  current();
  static const std::string& cubin = *new std::string(wanted_cubin());
  DRIVER_CALL(cuModuleLoadData);
  std::uint32_t id;
  {
    const std::lock_guard lock(driver().mutex);
    id = ++driver().last_module;
    take(current()->device, module_bytes);
  }
  if (const auto* table = hooks()) {
    table->module_loaded(current(), id, cubin.data(), cubin.size());
  }
  return id;
}

void fake_module_unload(std::uint32_t module) {
  DRIVER_CALL(cuModuleUnload);
  if (const auto* table = hooks()) table->module_unloaded(current(), module);
}

void fake_state_error() {
  if (const auto* table = hooks()) table->state_error();
}

}  // extern "C"
