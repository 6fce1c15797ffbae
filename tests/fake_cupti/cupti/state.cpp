#include "tests/fake_cupti/cupti/state.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/fake_cupti/cupti/profiling.hpp"
#include "tests/fake_cupti/cupti/range_profiler.hpp"
#include "tests/fake_cupti/hooks.hpp"

namespace fake {

// Never destroyed: threads outlive static destructors.
Cupti& cupti() {
  static Cupti* const it = new Cupti;
  return *it;
}

bool wants(std::uint32_t kind) { return cupti().enabled[kind].load(); }

std::uint32_t thread_id() {
  return cupti().system_thread_ids.load() ? static_cast<std::uint32_t>(syscall(SYS_gettid))
                                          : static_cast<std::uint32_t>(pthread_self());
}

void call_back(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) {
  if (id >= cbids || !cupti().callbacks[domain][id].load()) return;
  if (const auto callback = cupti().callback.load()) {
    const InCallback mark;
    callback(cupti().userdata.load(), domain, id, data);
  }
}

}  // namespace fake
