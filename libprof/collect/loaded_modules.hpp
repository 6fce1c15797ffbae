// The modules of a process that traces itself, with their code: CUPTI tells of a module when it is
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
  // Of code; what is loaded beyond is told of in its own trace only.
  static constexpr std::size_t most_bytes = std::size_t{256} << 20;

  using Tell = std::function<void(const CUpti_ResourceData&)>;

  // In CUPTI's callbacks. `tell`, if there is one, is called, and a trace is told of the module
  // then.
  void loaded(const CUpti_ResourceData& resource, const Tell& tell);
  void unloaded(const CUpti_ResourceData& resource);
  void context_ended(CUcontext context);

  // Those that the trace was not told of yet.
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
