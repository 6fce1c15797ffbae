#include "libprof/collect/loaded_modules.hpp"

namespace gpuprof::collect {

void LoadedModules::loaded(const CUpti_ResourceData& resource, const Tell& tell) {
  const auto* const module =
      static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
  if (!module || !module->pCubin || module->cubinSize == 0) return;
  const std::lock_guard lock(mutex_);
  if (tell) tell(resource);
  if (module->cubinSize > most_bytes - bytes_) return;
  const char* const code = static_cast<const char*>(module->pCubin);
  modules_.push_back({.context = resource.context,
                      .id = module->moduleId,
                      .cubin = {code, code + module->cubinSize},
                      .told = tell != nullptr});
  bytes_ += module->cubinSize;
}

template <class Which>
void LoadedModules::remove(Which&& which) {
  const std::lock_guard lock(mutex_);
  modules_.remove_if([&](const Module& module) {
    const bool gone = which(module);
    if (gone) bytes_ -= module.cubin.size();
    return gone;
  });
}

void LoadedModules::unloaded(const CUpti_ResourceData& resource) {
  const auto* const module =
      static_cast<const CUpti_ModuleResourceData*>(resource.resourceDescriptor);
  if (!module) return;
  remove([&](const Module& each) {
    return each.context == resource.context && each.id == module->moduleId;
  });
}

void LoadedModules::context_ended(CUcontext context) {
  remove([&](const Module& each) { return each.context == context; });
}

void LoadedModules::tell_the_others(const Tell& tell) {
  const std::lock_guard lock(mutex_);
  for (Module& module : modules_) {
    if (module.told) continue;
    CUpti_ModuleResourceData data{};
    data.moduleId = module.id;
    data.cubinSize = module.cubin.size();
    data.pCubin = module.cubin.data();
    CUpti_ResourceData resource{};
    resource.context = module.context;
    resource.resourceDescriptor = &data;
    tell(resource);
    module.told = true;
  }
}

void LoadedModules::trace_ends() {
  const std::lock_guard lock(mutex_);
  for (Module& module : modules_) module.told = false;
}

}  // namespace gpuprof::collect
