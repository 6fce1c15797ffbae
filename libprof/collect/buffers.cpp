#include "libprof/collect/buffers.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "libprof/base/clock.hpp"
#include "libprof/base/crc32c.hpp"
#include "libprof/base/text.hpp"
#include "libprof/collect/cubin.hpp"
#include "libprof/collect/keep_errno.hpp"
#include "schema/activity/code.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::int64_t default_slots = 256;
constexpr std::int64_t default_slot_bytes = 1 << 20;
constexpr std::int64_t cuptis_device_buffers = 250;  // CUPTI's own limit in a context

}  // namespace

std::optional<std::string> Buffers::create(const wire::Fields& config, bool leaves_again,
                                           CUpti_BuffersCallbackRequestFunc on_request,
                                           CUpti_BuffersCallbackCompleteFunc on_complete) {
  const auto slots = std::clamp<std::int64_t>(config.integer("slots", default_slots), 4, 1 << 16);
  const auto slot_bytes =
      std::clamp<std::int64_t>(config.integer("slot_bytes", default_slot_bytes), 1 << 16, 1 << 26);
  std::unique_lock packing(packing_);
  if (launch_names_) {
    arena_.reset();
    launch_names_->start_over();
    cubins_.clear();
    functions_ = 0;
  } else if (arena_.create(static_cast<std::uint32_t>(slots),
                           static_cast<std::size_t>(slot_bytes))) {
    launch_names_ = std::make_unique<LaunchNames>(arena_);
  } else {
    return std::string("no shared memory for activity buffers: ") + std::strerror(errno);
  }
  cupti_.count_in(arena_.ledger());
  strings_ = std::make_unique<LiveStrings>(arena_);
  packer_ = std::make_unique<Packer>(cupti_.version, *strings_, Packer::Records::live);
  packer_->leave_out_threads(arena_);
  delivery_ =
      std::make_unique<Delivery>(arena_, channel_, *packer_, cupti_.cuptiActivityGetNextRecord);
  payload_schemas_ = std::make_unique<PayloadSchemas>(
      nvtx_.objects(), [this](const wire::PayloadSchema& schema) { stream_.describe(schema); });
  packer_->on_payload([this](std::uint32_t domain, std::uint64_t schema) {
    payload_schemas_->seen(domain, schema);
  });
  packing.unlock();
  size_device_buffers(config);
  // We zero slots ourselves after packing, so CUPTI need not do it on the target's threads. In a
  // process that we leave again, another client may have other buffers.
  if (!leaves_again) expect_zeroed_buffers();
  // The kernel's thread ids, as shown by top, gdb and logs. If this cannot be set, CUPTI uses
  // pthread's.
  const bool system_thread_ids = use_thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  slots_.begin(cupti_, system_thread_ids);
  calls_.begin(cupti_);
  const auto domains = [&config](const char* key) {
    std::set<std::string> names;
    for (std::string& name : split(config.text(key), '\n')) {
      if (!name.empty()) names.insert(std::move(name));
    }
    return names;
  };
  nvtx_.objects().choose_domains(domains("nvtx_domains"), domains("nvtx_domains_left_out"));
  return cupti_.check("cuptiActivityRegisterCallbacks",
                      cupti_.cuptiActivityRegisterCallbacks(on_request, on_complete));
}

// A CUPTI that does not know the attribute zeroes buffers, with no other effect.
void Buffers::expect_zeroed_buffers() {
  if (!cupti_.cuptiActivitySetAttribute) return;
  std::uint8_t zeroed = 1;
  std::size_t size = sizeof zeroed;
  cupti_.try_("cuptiActivitySetAttribute",
              cupti_.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
                                               &size, &zeroed),
              {CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_NOT_SUPPORTED});
}

bool Buffers::use_thread_ids(CUpti_ActivityThreadIdType type) {
  return cupti_.cuptiSetThreadIdType &&
         cupti_.try_("cuptiSetThreadIdType", cupti_.cuptiSetThreadIdType(type),
                     {CUPTI_ERROR_INVALID_PARAMETER, CUPTI_ERROR_NOT_SUPPORTED});
}

void Buffers::leave_cupti() {
  use_thread_ids(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT);
  if (device_buffers_ != cuptis_device_buffers) {
    set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, cuptis_device_buffers);
  }
}

void Buffers::set_attribute(CUpti_ActivityAttribute attribute, std::int64_t value) {
  if (value <= 0 || !cupti_.cuptiActivitySetAttribute) return;
  auto wanted = static_cast<std::size_t>(value);
  std::size_t size = sizeof wanted;
  cupti_.try_("cuptiActivitySetAttribute",
              cupti_.cuptiActivitySetAttribute(attribute, &size, &wanted));
}

void Buffers::size_device_buffers(const wire::Fields& config) {
  set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE,
                config.integer("device_buffer_mb", 0) * 1'000'000);
  const std::int64_t asked = config.integer("device_buffers", 0);
  set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, asked);
  device_buffers_ = asked > 0 ? asked : cuptis_device_buffers;
  untimed_kernels_.store(0);
  untimed_before_ = 0;
  most_device_buffers_ = 2 * device_buffers_;
}

std::uint64_t Buffers::untimed_kernels() {
  const std::uint64_t all = untimed_kernels_.load(std::memory_order_relaxed);
  const std::uint64_t new_ones = all - std::exchange(untimed_before_, all);
  if (new_ones > 0 && device_buffers_ < most_device_buffers_) {
    device_buffers_ += std::max<std::int64_t>(device_buffers_ / 4, 1);
    set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, device_buffers_);
  }
  return new_ones;
}

std::byte* Buffers::lend() {
  std::byte* const buffer = arena_.lend();
  if (!buffer) count(wire::Count::slots_exhausted);
  return buffer;
}

void Buffers::completed(const std::byte* buffer, std::size_t used) {
  const Costs::Scope timed(costs(), wire::Count::background_packing,
                           Costs::Scope::Clock::processor);
  const std::lock_guard lock(packing_);
  const std::uint32_t slot = arena_.completed(buffer);
  delivery_->take(slot, used);
  note_packed();
  std::size_t dropped = 0;
  if (cupti_.try_("cuptiActivityGetNumDroppedRecords",
                  cupti_.cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped))) {
    arena_.ledger().add(wire::Count::records_dropped_by_cupti, dropped);
  }
}

void Buffers::note_packed() {
  wire::Ledger& ledger = arena_.ledger();
  ledger.set(wire::Count::records_packed, packer_->records());
  ledger.set(wire::Count::unknown_records, packer_->unknown());
  ledger.set(wire::Count::profiler_kernels, packer_->profiler_kernels());
  untimed_kernels_.store(packer_->untimed_kernels(), std::memory_order_relaxed);
  ledger.set(wire::Count::bytes_sent, channel_.bytes_sent());
}

void Buffers::unwanted(const std::byte* buffer, std::size_t used) {
  const std::lock_guard lock(packing_);
  arena_.give_back(arena_.completed(buffer), used);
}

void Buffers::flush_after_wait() {
  using std::chrono::milliseconds, std::chrono::nanoseconds;
  // A hundredth of the time, of which 20 ms may be used at once.
  constexpr std::int64_t share = 100, most_ahead = share * nanoseconds(milliseconds(20)).count();
  const std::int64_t begin = clock_ns(CLOCK_MONOTONIC);
  const std::int64_t used_until = waits_used_until_.load(std::memory_order_relaxed);
  if (used_until - begin > most_ahead || !channel_.flows()) return;
  const KeepErrno keep;
  const Costs::Scope timed(costs(), wire::Count::cost_flush);
  {
    const std::unique_lock lock(flushing_, milliseconds(10));
    if (lock.owns_lock()) flush_locked(0);
  }
  const std::int64_t end = clock_ns(CLOCK_MONOTONIC);
  waits_used_until_.store(std::max(used_until, begin) + share * (end - begin),
                          std::memory_order_relaxed);
}

void Buffers::flush(std::uint32_t flags) {
  const std::lock_guard lock(flushing_);
  flush_locked(flags);
}

void Buffers::flush_locked(std::uint32_t flags) {
  cupti_.try_("cuptiActivityFlushAll", cupti_.cuptiActivityFlushAll(flags));
  const std::lock_guard packing(packing_);
  delivery_->take_calls();
  note_packed();
}

void Buffers::keep_device_names() {
  constexpr int most_records = 64;  // they are among the first
  const std::lock_guard lock(packing_);
  for (std::uint32_t slot = 0; slot < arena_.slot_count(); ++slot) {
    if (arena_.slot_header(slot).state.load() != SlotState::lent) continue;
    auto* bytes = reinterpret_cast<std::uint8_t*>(arena_.slot(slot));
    CUpti_Activity* record = nullptr;
    for (int i = 0; i < most_records; ++i) {
      if (cupti_.cuptiActivityGetNextRecord(bytes, arena_.slot_size(), &record) != CUPTI_SUCCESS) {
        break;
      }
      if (record->kind == CUPTI_ACTIVITY_KIND_DEVICE) {
        strings_->intern(reinterpret_cast<const CUpti_ActivityDevice6*>(record)->name);
      }
    }
  }
}

void Buffers::add_module(const CUpti_ResourceData& loaded) {
  const auto* const module =
      static_cast<const CUpti_ModuleResourceData*>(loaded.resourceDescriptor);
  if (!module || !module->pCubin || module->cubinSize == 0) return;
  std::uint32_t context = 0;
  if (cupti_.cuptiGetContextId) {
    cupti_.try_("cuptiGetContextId", cupti_.cuptiGetContextId(loaded.context, &context));
  }
  schema::ModuleRecord record{};
  record.kind = CUPTI_ACTIVITY_KIND_MODULE;
  record.contextId = context;
  record.id = module->moduleId;
  record.cubinCrc = sum_of_cubin(module->pCubin, module->cubinSize);
  const std::lock_guard lock(packing_);
  // Sent only once for all contexts, and for modules that are loaded again.
  if (!cubins_.contains(record.cubinCrc)) {
    record.cubinSize = static_cast<std::uint32_t>(module->cubinSize);
    record.cubin = module->pCubin;
  }
  packer_->add(reinterpret_cast<CUpti_Activity*>(&record));
  if (list_functions_) add_functions(context, *module);
  if (delivery_->send_own()) cubins_.insert(record.cubinCrc);
}

// The CRC that CUPTI uses to identify a cubin in PC samples.
std::uint64_t Buffers::sum_of_cubin(const void* cubin, std::size_t size) {
  CUpti_GetCubinCrcParams params{};
  params.size = CUpti_GetCubinCrcParamsSize;
  params.cubin = cubin;
  params.cubinSize = size;
  if (cupti_.cuptiGetCubinCrc &&
      cupti_.try_("cuptiGetCubinCrc", cupti_.cuptiGetCubinCrc(&params))) {
    return params.cubinCrc;
  }
  // There are no samples then, so any other checksum will do.
  return crc32c({static_cast<const std::byte*>(cubin), size});
}

void Buffers::add_functions(std::uint32_t context, const CUpti_ModuleResourceData& module) {
  std::uint32_t index = 0;
  for_each_function(module.pCubin, module.cubinSize, [&](const char* name) {
    CUpti_ActivityFunction function{};
    function.kind = CUPTI_ACTIVITY_KIND_FUNCTION;
    function.id = ++functions_;
    function.contextId = context;
    function.moduleId = module.moduleId;
    function.functionIndex = ++index;
    function.name = name;
    packer_->add(reinterpret_cast<CUpti_Activity*>(&function));
  });
}

void Buffers::add(std::span<const CUpti_ActivityDeviceAttribute> attributes) {
  const std::lock_guard lock(packing_);
  for (const CUpti_ActivityDeviceAttribute& record : attributes) {
    packer_->add(reinterpret_cast<const CUpti_Activity*>(&record));
  }
  delivery_->send_own();
}

void Buffers::resume() {
  const std::lock_guard lock(packing_);
  delivery_->resume();
  delivery_->take_calls();
}

void Buffers::wait_until_sent(std::chrono::milliseconds patience) {
  using Clock = std::chrono::steady_clock;
  auto until = Clock::now() + patience;
  while (channel_.stalled()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0 || !channel_.wait_to_send(static_cast<int>(left))) break;
    const std::lock_guard lock(packing_);
    if (delivery_->resume()) until = Clock::now() + patience;
    delivery_->take_calls();
  }
}

// By both ids that CUPTI may use for the thread.
void Buffers::leave_out_this_thread() {
  slots_.leave_out_this_thread();
  for (const std::uint32_t id : {static_cast<std::uint32_t>(syscall(SYS_gettid)),
                                 static_cast<std::uint32_t>(pthread_self())}) {
    for (auto& own : arena_.own_threads()) {
      std::uint32_t none = 0;
      if (own.compare_exchange_strong(none, id)) break;
    }
  }
}

}  // namespace gpuprof::collect
