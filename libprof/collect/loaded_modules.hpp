// The modules of a process that traces itself, with their code: CUPTI reports a module when it is
// loaded, and a later trace needs it too. Any thread.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <vector>

namespace gpuprof::collect {

class LoadedModules {
 public:
  // Total code size; modules beyond it are reported only to the trace in which they are loaded.
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;

  using Tell = std::function<void(const CUpti_ResourceData&)>;

  // In CUPTI's callbacks. A non-empty `tell` is called, which reports the module to the current
  // trace.
  void loaded(const CUpti_ResourceData& resource, const Tell& tell);
  void unloaded(const CUpti_ResourceData& resource);
  void context_ended(CUcontext context);

  // Those not yet reported to the current trace.
  void tell_the_others(const Tell& tell);
  void trace_ends();

 private:
  struct Module {
    CUcontext context = nullptr;
    std::uint32_t id = 0;
    std::vector<char> cubin;
    bool told = false;
  };

  template <class Which>
  void remove(Which&& which);

  std::mutex mutex_;
  std::list<Module> modules_;
  std::size_t bytes_ = 0;
};

}  // namespace gpuprof::collect
