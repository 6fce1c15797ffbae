#include "libprof/collect/share/lookups.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cstring>

#include "libprof/collect/keep_errno.hpp"
#include "libprof/collect/share/stand_ins.hpp"

namespace gpuprof::collect {
namespace {

std::atomic<void (*)()> look{nullptr};

}  // namespace

bool is_of_cupti(const char* name) { return std::strncmp(name, "cupti", 5) == 0; }

void look_before_lookups(void (*function)()) { look.store(function); }

}  // namespace gpuprof::collect

using namespace gpuprof::collect;

extern "C" {

using Dlsym = void*(void*, const char*);
// Read by the code below.
[[gnu::visibility("hidden"), gnu::used]] Dlsym* gpuprof_collect_real_dlsym = &dlsym;

// Answers for a name of CUPTI's; null: the real dlsym has to answer.
[[gnu::visibility("hidden"), gnu::used]] void* gpuprof_collect_look_up(void* library,
                                                                       const char* name) {
  const KeepErrno keep;
  if (const auto function = look.load()) function();
  if (!name || !is_of_cupti(name)) return nullptr;
  // A client may ask whether its copy has a function.
  const bool by_order = library == RTLD_DEFAULT || library == RTLD_NEXT;
  if (!by_order && !dlsym(library, name)) return nullptr;
  return stand_in_for(name);
}
}

// Saves the two arguments, asks gpuprof_collect_look_up, and returns its answer, or jumps to the
// real dlsym with the stack and the arguments as they were.
#if defined(__x86_64__)
__asm__(R"(
.text
.hidden gpuprof_collect_dlsym
.globl gpuprof_collect_dlsym
.type gpuprof_collect_dlsym, @function
gpuprof_collect_dlsym:
  endbr64
  push %rdi
  push %rsi
  sub $8, %rsp
  call gpuprof_collect_look_up
  add $8, %rsp
  pop %rsi
  pop %rdi
  test %rax, %rax
  jz 1f
  ret
1:
  jmp *gpuprof_collect_real_dlsym(%rip)
.size gpuprof_collect_dlsym, . - gpuprof_collect_dlsym
)");
#elif defined(__aarch64__)
__asm__(R"(
.text
.hidden gpuprof_collect_dlsym
.globl gpuprof_collect_dlsym
.type gpuprof_collect_dlsym, %function
gpuprof_collect_dlsym:
  hint #34
  stp x29, x30, [sp, #-32]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  bl gpuprof_collect_look_up
  mov x9, x0
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #32
  cbz x9, 1f
  mov x0, x9
  ret
1:
  adrp x16, gpuprof_collect_real_dlsym
  ldr x16, [x16, :lo12:gpuprof_collect_real_dlsym]
  br x16
.size gpuprof_collect_dlsym, . - gpuprof_collect_dlsym
)");
#endif
