// The stand-in libcuda.so.1, with the runtime on top: loads the injection library where the real
// one does, and tells the stand-in CUPTI what is called and what the device does.
//
// FAKE_CUDA_DEVICES: how many devices there are (1). CUDA's own headers are left out: the functions
// here have the names, and not the many names, of the real ones.
#include <cupti_driver_cbid.h>
#include <cupti_runtime_cbid.h>
#include <dlfcn.h>
#include <elf.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace {

constexpr int success = 0;
constexpr int not_initialized = 3;
constexpr int deinitialized = 4;

struct Context {
  std::uint32_t id;
  std::uint32_t device;
};

// Never destroyed: threads outlive static destructors.
struct Driver {
  std::once_flag init;
  std::atomic<pid_t> owner{0};  // the process that called cuInit
  std::atomic<bool> torn_down{false};
  std::atomic<const fake::Hooks*> hooks{nullptr};

  std::mutex mutex;
  std::vector<std::unique_ptr<Context>> contexts;
  std::uint32_t last_context = 0;
  std::uint32_t last_module = 0;
  std::atomic<Context*> primary{nullptr};
  std::uint64_t device_busy_until = 0;
  std::uint64_t kernel_time = 1000;
  std::uint64_t next_address = 0x7f0000000000;
  std::map<std::uint64_t, std::uint64_t> allocations;
  // Two texts of one name: the real ones are two as well.
  std::map<std::string, std::pair<const char*, const char*>, std::less<>> names;
  std::uint32_t graphs = 0;
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
  return text ? std::atoi(text) : 1;
}

// The thread's outermost runtime call, for the driver calls inside.
thread_local fake::ApiCall* runtime_call = nullptr;

class Call {
 public:
  Call(bool runtime, std::uint32_t cbid, const char* function, const char* symbol = nullptr) {
    call_.runtime = runtime;
    call_.cbid = cbid;
    call_.function = function;
    call_.symbol = symbol;
    call_.context = driver().primary.load();
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

Context* create_context(std::uint32_t device) {
  Context* context;
  {
    const std::lock_guard lock(driver().mutex);
    driver().contexts.push_back(
        std::make_unique<Context>(Context{++driver().last_context, device}));
    context = driver().contexts.back().get();
  }
  if (const auto* table = hooks()) table->context_created(context, context->id, device);
  return context;
}

// The runtime's context, made by the first call that needs it.
Context* primary() {
  static std::once_flag once;
  std::call_once(once, [] {
    Context* context = create_context(0);
    driver().primary.store(context);
  });
  return driver().primary.load();
}

// The process can use CUDA: it called cuInit itself and the driver has not been taken down.
int state() {
  if (driver().owner.load() != getpid()) return not_initialized;
  return driver().torn_down.load() ? deinitialized : success;
}

void initialize() {
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

// Gives the device something to do; it does one thing after the other.
void schedule(fake::Work& work, std::uint64_t duration) {
  const std::lock_guard lock(driver().mutex);
  work.start = std::max(now() + 100, driver().device_busy_until);
  work.end = work.start + duration;
  driver().device_busy_until = work.end;
}

fake::Work work_of(const Call& call) {
  fake::Work work;
  work.correlation = call.correlation();
  work.context = primary()->id;
  work.stream = 7;
  return work;
}

void run_kernel(const Call& call, const char* name, std::uint32_t graph = 0,
                std::uint64_t node = 0) {
  fake::Work work = work_of(call);
  work.name = name;
  work.grid = 64;
  work.block = 256;
  work.graph = graph;
  work.graph_node = node;
  schedule(work, driver().kernel_time);
  if (const auto* table = hooks()) table->kernel(work);
}

std::uint64_t busy_until() {
  const std::lock_guard lock(driver().mutex);
  return driver().device_busy_until;
}

}  // namespace

extern "C" {

bool fake_cuda_set_hooks(const fake::Hooks* table) {
  const fake::Hooks* none = nullptr;
  if (table) return driver().hooks.compare_exchange_strong(none, table);
  driver().hooks.store(nullptr);
  return true;
}

int cuInit(unsigned) { return ready(); }

int cuDriverGetVersion(int* version) {
  DRIVER_CALL(cuDriverGetVersion);
  *version = 13000;
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

int cuCtxSetCurrent(void*) {
  DRIVER_CALL(cuCtxSetCurrent);
  return call.fail(state());
}

int cuCtxSynchronize() {
  DRIVER_CALL(cuCtxSynchronize);
  if (state() != success) return call.fail(state());
  const std::uint64_t start = now();
  wait_until(busy_until());
  if (const auto* table = hooks()) {
    table->synchronized(call.correlation(), primary()->id, start, now());
  }
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
  const int unable = ready();
  if (unable == success) primary();
  const auto [symbol, name] = names_of(kernel);
  for (int i = 0; i < times; ++i) {
    Call call(false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", symbol);
    if (unable) {
      call.fail(unable);
    } else {
      run_kernel(call, name);
    }
  }
}

void fake_launch(const char* kernel, int times) {
  const int unable = ready();
  if (unable == success) primary();
  const auto [symbol, name] = names_of(kernel);
  for (int i = 0; i < times; ++i) {
    Call outer(true, CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, "cudaLaunchKernel", symbol);
    if (unable) {
      outer.fail(unable);
      continue;
    }
    // CUPTI's own question, which shows as a driver call wherever that is collected.
    { DRIVER_CALL(cuKernelGetName); }
    Call call(false, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, "cuLaunchKernel", symbol);
    run_kernel(call, name);
  }
}

void fake_graph_launch(const char* kernel, int nodes) {
  if (ready() != success) return;
  primary();
  const char* name = names_of(kernel).second;
  RUNTIME_CALL(cudaGraphLaunch, v10000);
  const std::uint32_t graph = ++driver().graphs;
  for (int node = 0; node < nodes; ++node) {
    run_kernel(call, name, graph, (std::uint64_t{graph} << 32) + static_cast<unsigned>(node) + 1);
  }
}

void fake_copy(int kind, std::uint64_t bytes) {
  if (ready() != success) return;
  primary();
  RUNTIME_CALL(cudaMemcpy, v3020);
  fake::Work work = work_of(call);
  work.copy_kind = static_cast<std::uint32_t>(kind);
  work.bytes = bytes;
  schedule(work, 500);
  if (const auto* table = hooks()) table->copy(work);
}

void fake_set(std::uint64_t bytes) {
  if (ready() != success) return;
  primary();
  RUNTIME_CALL(cudaMemset, v3020);
  fake::Work work = work_of(call);
  work.bytes = bytes;
  schedule(work, 300);
  if (const auto* table = hooks()) table->set(work);
}

std::uint64_t fake_malloc(std::uint64_t bytes) {
  if (ready() != success) return 0;
  primary();
  RUNTIME_CALL(cudaMalloc, v3020);
  std::uint64_t address;
  {
    const std::lock_guard lock(driver().mutex);
    address = driver().next_address;
    driver().next_address += (bytes + 511) / 512 * 512;
    driver().allocations[address] = bytes;
  }
  if (const auto* table = hooks()) {
    table->memory(false, address, bytes, call.correlation(), primary()->id);
  }
  return address;
}

void fake_free(std::uint64_t address) {
  if (ready() != success) return;
  primary();
  RUNTIME_CALL(cudaFree, v3020);
  std::uint64_t bytes;
  {
    const std::lock_guard lock(driver().mutex);
    bytes = driver().allocations[address];
    driver().allocations.erase(address);
  }
  if (const auto* table = hooks()) {
    table->memory(true, address, bytes, call.correlation(), primary()->id);
  }
}

void fake_synchronize() {
  if (ready() != success) return;
  primary();
  RUNTIME_CALL(cudaDeviceSynchronize, v3020);
  const std::uint64_t start = now();
  wait_until(busy_until());
  if (const auto* table = hooks()) {
    table->synchronized(call.correlation(), primary()->id, start, now());
  }
}

void fake_kernel_time(std::uint64_t ns) {
  const std::lock_guard lock(driver().mutex);
  driver().kernel_time = ns;
}

void* fake_context_create() {
  if (ready() != success) return nullptr;
  DRIVER_CALL(cuCtxCreate_v2);
  return create_context(0);
}

void fake_context_destroy(void* context) {
  DRIVER_CALL(cuCtxDestroy_v2);
  if (const auto* table = hooks()) {
    table->context_destroyed(context, static_cast<Context*>(context)->id);
  }
}

void fake_module_load() {
  if (ready() != success) return;
  primary();
  // An ELF with nothing but section names.
  static constexpr char names[] = "\0.shstrtab\0.text.first\0.text.second";
  struct Cubin {
    Elf64_Ehdr header{};
    Elf64_Shdr sections[4]{};
    char text[sizeof names]{};
  };
  static Cubin* const cubin = [] {
    auto* made = new Cubin;
    std::memcpy(made->header.e_ident, ELFMAG, SELFMAG);
    made->header.e_shoff = offsetof(Cubin, sections);
    made->header.e_shentsize = sizeof(Elf64_Shdr);
    made->header.e_shnum = 4;
    made->header.e_shstrndx = 1;
    made->sections[1].sh_name = 1;
    made->sections[1].sh_offset = offsetof(Cubin, text);
    made->sections[1].sh_size = sizeof names;
    made->sections[2].sh_name = 11;
    made->sections[3].sh_name = 23;
    std::memcpy(made->text, names, sizeof names);
    return made;
  }();
  DRIVER_CALL(cuModuleLoadData);
  std::uint32_t id;
  {
    const std::lock_guard lock(driver().mutex);
    id = ++driver().last_module;
  }
  if (const auto* table = hooks()) table->module_loaded(primary(), id, cubin, sizeof *cubin);
}

void fake_state_error() {
  if (const auto* table = hooks()) table->state_error();
}

}  // extern "C"
