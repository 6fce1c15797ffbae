#include "libprof/collect/share/stand_ins.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <iterator>

#include "libprof/collect/share/lookups.hpp"

namespace gpuprof::collect {
namespace {

std::atomic<Sharing*> server{nullptr};
std::atomic<Sharing*> last_server{nullptr};
std::atomic<const cupti::Api*> used_cupti{nullptr};

// What only clients call.
#define GPUPROF_CUPTI_CLIENTS(X)            \
  X(cuptiEnableAllDomains)                  \
  X(cuptiGetCallbackState)                  \
  X(cuptiActivityEnableContext)             \
  X(cuptiActivityDisableContext)            \
  X(cuptiActivityFlushPeriod)               \
  X(cuptiActivityRegisterTimestampCallback) \
  X(cuptiFinalize)

struct More {
#define MEMBER(name) std::atomic<decltype(&::name)> name{nullptr};
  GPUPROF_CUPTI_CLIENTS(MEMBER)
#undef MEMBER
} more;

// After the collector has left, the client's handle stands for one of CUPTI's.
template <class T>
T as_cuptis(T argument) {
  return argument;
}
CUpti_SubscriberHandle as_cuptis(CUpti_SubscriberHandle handle) {
  const Sharing* const last = last_server.load();
  return last ? last->cuptis_handle(handle) : handle;
}

// Answers a call by a function of Sharing, or else of CUPTI, which may be too old to have it.
template <auto Served, auto Cuptis>
struct StandIn;
template <auto Served, class... Arguments, CUptiResult (*cupti::Api::*Cuptis)(Arguments...)>
struct StandIn<Served, Cuptis> {
  static CUptiResult call(Arguments... arguments) {
    if (Sharing* const sharing = server.load()) return (sharing->*Served)(arguments...);
    const auto function = used_cupti.load()->*Cuptis;
    return function ? function(as_cuptis(arguments)...) : CUPTI_ERROR_NOT_SUPPORTED;
  }
};
template <auto Served, class... Arguments, std::atomic<CUptiResult (*)(Arguments...)> More::*Cuptis>
struct StandIn<Served, Cuptis> {
  static CUptiResult call(Arguments... arguments) {
    if (Sharing* const sharing = server.load()) return (sharing->*Served)(arguments...);
    const auto function = (more.*Cuptis).load();
    return function ? function(as_cuptis(arguments)...) : CUPTI_ERROR_NOT_SUPPORTED;
  }
};

// Its records are described in another way, and it has state of its own in each of its functions.
CUptiResult subscribe_by_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*, void*) {
  return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
}

struct Named {
  const char* name;
  void* function;
};

template <class Function>
Named named(const char* name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

#define STAND_IN_OF(Owner, function, served) \
  named(#function, &StandIn<&Sharing::served, &Owner::function>::call)
#define STAND_IN(function, served) STAND_IN_OF(cupti::Api, function, served)
#define STAND_IN_MORE(function, served) STAND_IN_OF(More, function, served)
const Named stand_ins[] = {
    STAND_IN(cuptiSubscribe, subscribe),
    named("cuptiSubscribe_v2", &subscribe_by_v2),
    STAND_IN(cuptiUnsubscribe, unsubscribe),
    STAND_IN(cuptiEnableCallback, enable_callback),
    STAND_IN(cuptiEnableDomain, enable_domain),
    STAND_IN_MORE(cuptiEnableAllDomains, enable_all_domains),
    STAND_IN_MORE(cuptiGetCallbackState, callback_state),
    STAND_IN(cuptiActivityRegisterCallbacks, lend_buffers),
    STAND_IN(cuptiActivityEnable, enable),
    // What was there before is in the collector's records, and CUPTI does not dump it twice.
    STAND_IN(cuptiActivityEnableAndDump, enable),
    STAND_IN(cuptiActivityDisable, disable),
    STAND_IN_MORE(cuptiActivityEnableContext, enable_in_context),
    STAND_IN_MORE(cuptiActivityDisableContext, disable_in_context),
    STAND_IN(cuptiActivityEnableRuntimeApi, enable_runtime_function),
    STAND_IN(cuptiActivityEnableDriverApi, enable_driver_function),
    STAND_IN(cuptiActivityFlushAll, flush),
    STAND_IN_MORE(cuptiActivityFlushPeriod, flush_period),
    STAND_IN_MORE(cuptiActivityRegisterTimestampCallback, use_clock),
    STAND_IN(cuptiGetTimestamp, timestamp),
    STAND_IN(cuptiActivityGetNumDroppedRecords, dropped),
    STAND_IN(cuptiActivitySetAttribute, set_attribute),
    STAND_IN(cuptiSetThreadIdType, set_thread_ids),
    STAND_IN_MORE(cuptiFinalize, finalize),
};
#undef STAND_IN_MORE
#undef STAND_IN
#undef STAND_IN_OF

const Named* find_stand_in(const char* name) {
  const auto same = [name](const Named& one) { return std::strcmp(one.name, name) == 0; };
  const auto found = std::find_if(std::begin(stand_ins), std::end(stand_ins), same);
  return found == std::end(stand_ins) ? nullptr : found;
}

// Functions of CUPTI's that libraries import and that nothing stands for. A client may have a copy
// of its own, which nothing has set up: so its calls go to the collector's.
struct Imported {
  std::array<char, 64> name;
  void* function;  // null: CUPTI does not have it
};
std::array<Imported, 512> imported;
std::size_t imported_count = 0, imported_known = 0;

}  // namespace

void serve_clients(Sharing& sharing, const cupti::Api& cupti) {
  used_cupti.store(&cupti);
#define LOOK_UP(name) more.name.store(reinterpret_cast<decltype(&::name)>(cupti.symbol(#name)));
  GPUPROF_CUPTI_CLIENTS(LOOK_UP)
#undef LOOK_UP
  last_server.store(&sharing);
  server.store(&sharing);
}

void stop_serving_clients() { server.store(nullptr); }

bool have_stand_ins() { return last_server.load() != nullptr; }

void* stand_in_for_import(const char* name) {
  if (std::strcmp(name, "dlsym") == 0) return reinterpret_cast<void*>(&gpuprof_collect_dlsym);
  if (!is_of_cupti(name)) return nullptr;
  if (const Named* const known = find_stand_in(name)) return known->function;
  for (std::size_t i = 0; i < imported_count; ++i) {
    if (std::strcmp(imported[i].name.data(), name) == 0) return imported[i].function;
  }
  const std::size_t length = std::strlen(name);
  if (imported_count == imported.size() || length >= imported[0].name.size()) return nullptr;
  std::memcpy(imported[imported_count].name.data(), name, length + 1);
  imported[imported_count++].function = nullptr;
  return nullptr;
}

bool look_up_imports() {
  const bool some = imported_known < imported_count;
  for (; imported_known < imported_count; ++imported_known) {
    Imported& one = imported[imported_known];
    one.function = used_cupti.load()->symbol(one.name.data());
  }
  return some;
}

void* stand_in_for(const char* name) {
  const Named* const known = find_stand_in(name);
  return known ? known->function : used_cupti.load()->symbol(name);
}

}  // namespace gpuprof::collect
