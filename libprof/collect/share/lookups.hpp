// What dlsym answers to the libraries of the target: for a name of CUPTI's what stands for it
// (stand_ins.hpp), for any other what it always did. Clients that are not linked against CUPTI,
// such as those that use ctypes, find its functions in this way.
#pragma once

namespace gpuprof::collect {

bool is_of_cupti(const char* name);

// Called before each look-up: a library that was loaded since may have to be looked through. Any
// thread, perhaps while the loader runs a library's constructors.
void look_before_lookups(void (*look)());

}  // namespace gpuprof::collect

// dlsym depends on who calls it, so this one calls nothing: it jumps to the real one.
extern "C" [[gnu::visibility("hidden")]] void* gpuprof_collect_dlsym(void* library,
                                                                     const char* name);
