#include "libprof/collect/driver.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <memory>
#include <type_traits>

namespace gpuprof::collect {
namespace {

struct Driver {
  decltype(&::cuDeviceGetCount) cuDeviceGetCount = nullptr;
  decltype(&::cuDeviceGetAttribute) cuDeviceGetAttribute = nullptr;
  decltype(&::cuDriverGetVersion) cuDriverGetVersion = nullptr;
  decltype(&::cuCtxSetCurrent) cuCtxSetCurrent = nullptr;
  decltype(&::cuCtxGetCurrent) cuCtxGetCurrent = nullptr;
  decltype(&::cuDevicePrimaryCtxGetState) cuDevicePrimaryCtxGetState = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) cuDevicePrimaryCtxRetain = nullptr;
  CUresult (*release_primary)(CUdevice) = nullptr;
  CUresult (*memory)(std::size_t*, std::size_t*) = nullptr;
  CUresult (*synchronize)() = nullptr;  // later headers define its name as a macro
};

// Written once, by find_driver(), before any other thread of ours reads it.
std::atomic<const Driver*> driver{nullptr};

// Shared with the waiting thread, which may never return.
struct Wait {
  std::vector<CUcontext> contexts;
  void (*on_thread)() = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
};

void* wait_for_contexts(void* argument) {
  const std::unique_ptr<std::shared_ptr<Wait>> owned(static_cast<std::shared_ptr<Wait>*>(argument));
  Wait& wait = **owned;
  wait.on_thread();
  const Driver* const cuda = driver.load();
  for (CUcontext context : wait.contexts) {
    if (!cuda || !cuda->cuCtxSetCurrent || !cuda->synchronize) break;
    if (cuda->cuCtxSetCurrent(context) == CUDA_SUCCESS) cuda->synchronize();
  }
  const std::lock_guard lock(wait.mutex);
  wait.done = true;
  wait.changed.notify_all();
  return nullptr;
}

}  // namespace

void find_driver() {
  static Driver found;
  void* const library = driver.load() ? nullptr : dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return;
  const auto look_up = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  look_up(found.cuDeviceGetCount, "cuDeviceGetCount");
  look_up(found.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  look_up(found.cuDriverGetVersion, "cuDriverGetVersion");
  look_up(found.cuCtxSetCurrent, "cuCtxSetCurrent");
  look_up(found.cuCtxGetCurrent, "cuCtxGetCurrent");
  look_up(found.cuDevicePrimaryCtxGetState, "cuDevicePrimaryCtxGetState");
  look_up(found.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  look_up(found.release_primary, "cuDevicePrimaryCtxRelease_v2");
  look_up(found.memory, "cuMemGetInfo_v2");
  look_up(found.synchronize, "cuCtxSynchronize");
  driver.store(&found);
}

bool start_thread(void* (*body)(void*), void* argument) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  const bool started = pthread_create(&thread, nullptr, body, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started) return false;
  pthread_setname_np(thread, "gpuprof");
  pthread_detach(thread);
  return true;
}

void Contexts::created(CUcontext context) {
  const std::lock_guard lock(mutex_);
  contexts_.insert(context);
  seen_.store(true, std::memory_order_release);
}

bool Contexts::find_existing() {
  const Driver* const cuda = driver.load();
  int devices = 0;
  if (!cuda || !cuda->cuDeviceGetCount || cuda->cuDeviceGetCount(&devices) != CUDA_SUCCESS) {
    return false;
  }
  CUcontext context = nullptr;
  if (cuda->cuCtxGetCurrent && cuda->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context) {
    created(context);
  }
  const bool primary =
      cuda->cuDevicePrimaryCtxGetState && cuda->cuDevicePrimaryCtxRetain && cuda->release_primary;
  for (int device = 0; primary && device < devices; ++device) {
    unsigned flags = 0;
    int active = 0;
    if (cuda->cuDevicePrimaryCtxGetState(device, &flags, &active) != CUDA_SUCCESS || !active ||
        cuda->cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS) {
      continue;
    }
    created(context);
    cuda->release_primary(device);
  }
  return any_seen();
}

void Contexts::destroyed(CUcontext context) {
  const std::lock_guard lock(mutex_);
  contexts_.erase(context);
}

void Contexts::forget() {
  const std::lock_guard lock(mutex_);
  contexts_.clear();
  seen_.store(false, std::memory_order_release);
}

std::vector<CUcontext> Contexts::all() const {
  const std::lock_guard lock(mutex_);
  return {contexts_.begin(), contexts_.end()};
}

bool Contexts::synchronize(std::chrono::milliseconds patience, void (*on_thread)()) const {
  if (!any_seen()) return true;
  auto wait = std::make_shared<Wait>();
  {
    const std::lock_guard lock(mutex_);
    wait->contexts.assign(contexts_.begin(), contexts_.end());
  }
  wait->on_thread = on_thread;
  auto handed_over = std::make_unique<std::shared_ptr<Wait>>(wait);
  if (!start_thread(&wait_for_contexts, handed_over.get())) return false;
  static_cast<void>(handed_over.release());
  std::unique_lock lock(wait->mutex);
  return wait->changed.wait_for(lock, patience, [&] { return wait->done; });
}

CUcontext current_context() {
  const Driver* const cuda = driver.load();
  CUcontext context = nullptr;
  if (!cuda || !cuda->cuCtxGetCurrent || cuda->cuCtxGetCurrent(&context) != CUDA_SUCCESS) {
    return nullptr;
  }
  return context;
}

Current::Current(CUcontext context) {
  const Driver* const cuda = driver.load();
  if (!cuda || !cuda->cuCtxSetCurrent || !cuda->cuCtxGetCurrent ||
      cuda->cuCtxGetCurrent(&before_) != CUDA_SUCCESS || before_ == context) {
    return;
  }
  changed_ = cuda->cuCtxSetCurrent(context) == CUDA_SUCCESS;
}

Current::~Current() {
  if (changed_) driver.load()->cuCtxSetCurrent(before_);
}

std::vector<CUpti_ActivityDeviceAttribute> device_attributes() {
  std::vector<CUpti_ActivityDeviceAttribute> records;
  const Driver* const cuda = driver.load();
  int devices = 0;
  if (!cuda || !cuda->cuDeviceGetCount || !cuda->cuDeviceGetAttribute ||
      cuda->cuDeviceGetCount(&devices) != CUDA_SUCCESS) {
    return records;
  }
  for (int device = 0; device < devices; ++device) {
    for (int id = 1; id < CU_DEVICE_ATTRIBUTE_MAX; ++id) {
      const auto attribute = static_cast<CUdevice_attribute>(id);
      int value = 0;
      if (cuda->cuDeviceGetAttribute(&value, attribute, device) != CUDA_SUCCESS) continue;
      CUpti_ActivityDeviceAttribute record{};
      record.kind = CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE;
      record.flags = CUPTI_ACTIVITY_FLAG_DEVICE_ATTRIBUTE_CUDEVICE;
      record.deviceId = static_cast<std::uint32_t>(device);
      record.attribute.cu = attribute;
      record.value.vInt64 = value;
      records.push_back(record);
    }
  }
  return records;
}

bool device_memory(CUcontext context, std::uint64_t& free, std::uint64_t& total) {
  const Driver* const cuda = driver.load();
  if (!cuda || !cuda->cuCtxSetCurrent || !cuda->memory) return false;
  if (cuda->cuCtxSetCurrent(context) != CUDA_SUCCESS) return false;
  std::size_t free_bytes = 0, total_bytes = 0;
  const bool told = cuda->memory(&free_bytes, &total_bytes) == CUDA_SUCCESS;
  cuda->cuCtxSetCurrent(nullptr);
  free = free_bytes;
  total = total_bytes;
  return told;
}

int driver_version() {
  const Driver* const cuda = driver.load();
  int version = 0;
  const bool known =
      cuda && cuda->cuDriverGetVersion && cuda->cuDriverGetVersion(&version) == CUDA_SUCCESS;
  return known ? version : 0;
}

}  // namespace gpuprof::collect
