#include "libprof/collect/share/sharing.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "schema/activity/all.hpp"

namespace gpuprof::collect {
namespace {

constexpr bool is_kind(int kind) { return kind > 0 && kind < static_cast<int>(kind_limit); }

constexpr CUpti_CallbackDomain callback_domains[] = {
    CUPTI_CB_DOMAIN_DRIVER_API,  CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_CB_DOMAIN_RESOURCE,
    CUPTI_CB_DOMAIN_SYNCHRONIZE, CUPTI_CB_DOMAIN_NVTX,        CUPTI_CB_DOMAIN_STATE};

}  // namespace

const std::array<Sharing::Places, kind_limit>& Sharing::places() {
  static const std::array<Places, kind_limit> all = [] {
    std::array<Places, kind_limit> found{};
    schema::for_each_kind([&]<class K>() {
      Places& of = found[K::info.id];
      for (const schema::Field& field : K::fields) {
        if (field.offset == 0 || field.extract) continue;
        const schema::Column& column = field.column;
        const bool is_time = column.unit == "ns" && column.type == schema::Type::u64;
        if (is_time && of.count < of.times.size()) of.times[of.count++] = field.offset;
        if (column.role == schema::Role::correlation && of.call == 0) of.call = field.offset;
      }
    });
    return found;
  }();
  return all;
}

std::uint64_t Sharing::now() const {
  std::uint64_t time = 0;
  cupti_.try_("cuptiGetTimestamp", cupti_.cuptiGetTimestamp(&time));
  return time;
}

// --- the subscriber

CUptiResult Sharing::subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback,
                               void* data) {
  if (!handle) return CUPTI_ERROR_INVALID_PARAMETER;
  // CUPTI accepts a subscriber that has no callback.
  static constexpr CUpti_CallbackFunc nothing = [](void*, CUpti_CallbackDomain, CUpti_CallbackId,
                                                   const void*) {};
  CUpti_CallbackFunc none = nullptr;
  if (!callback_.compare_exchange_strong(none, callback ? callback : nothing)) {
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  data_.store(data, std::memory_order_release);
  handed_over_.store(nullptr);
  *handle = this->handle();
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::unsubscribe(CUpti_SubscriberHandle handle) {
  if (!is_client(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  disable_callbacks();
  callback_.store(nullptr);
  return CUPTI_SUCCESS;
}

void Sharing::disable_callbacks() {
  for (const CUpti_CallbackDomain domain : callback_domains) {
    subscription_.share_domain(domain, false);
  }
}

CUptiResult Sharing::enable_callback(std::uint32_t on, CUpti_SubscriberHandle handle,
                                     CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!is_client(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  return subscription_.share(domain, id, on != 0);
}

CUptiResult Sharing::enable_domain(std::uint32_t on, CUpti_SubscriberHandle handle,
                                   CUpti_CallbackDomain domain) {
  if (!is_client(handle)) return CUPTI_ERROR_INVALID_PARAMETER;
  return subscription_.share_domain(domain, on != 0);
}

CUptiResult Sharing::enable_all_domains(std::uint32_t on, CUpti_SubscriberHandle handle) {
  for (const CUpti_CallbackDomain domain : callback_domains) {
    const CUptiResult result = enable_domain(on, handle, domain);
    if (result != CUPTI_SUCCESS) return result;
  }
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::callback_state(std::uint32_t* on, CUpti_SubscriberHandle handle,
                                    CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  if (!is_client(handle) || !on) return CUPTI_ERROR_INVALID_PARAMETER;
  *on = subscription_.shares(domain, id);
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::finalize() {
  disable_callbacks();
  for (int kind = 1; is_kind(kind); ++kind) disable(static_cast<CUpti_ActivityKind>(kind));
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  callback_.store(nullptr);
  request_.store(nullptr);
  complete_.store(nullptr);
  clock_function_.store(nullptr);
  const std::lock_guard lock(forwarding_);
  clock_.choose(nullptr, nullptr);
  return CUPTI_SUCCESS;
}

// --- kinds

bool Sharing::Intervals::contain(std::uint64_t time, std::uint32_t call,
                                 std::uint32_t latest) const {
  for (std::size_t i = 0; i < std::min(count, last.size()); ++i) {
    if (last[i].contains(time, call, latest)) return true;
  }
  return false;
}

bool Sharing::any_open() const {
  return std::ranges::any_of(intervals_, [](const Intervals& kind) { return kind.open(); });
}

void Sharing::open_interval(std::size_t kind) {
  Intervals& intervals = intervals_[kind];
  if (intervals.open()) return;
  ++intervals.count;
  intervals.newest() = {now(), never, buffers_.last_correlation(), 0};
  active_.store(true);
}

void Sharing::close_interval(std::size_t kind) {
  if (!intervals_[kind].open()) return;
  intervals_[kind].newest().to = now();
  intervals_[kind].newest().last_call = buffers_.last_correlation();
}

CUptiResult Sharing::enable(CUpti_ActivityKind kind) {
  if (!is_kind(kind)) return CUPTI_ERROR_INVALID_KIND;
  {
    const std::lock_guard lock(intervals_lock_);
    open_interval(kind);
  }
  const CUptiResult result = tracing_.share(kind, true);
  if (result != CUPTI_SUCCESS) {
    const std::lock_guard lock(intervals_lock_);
    close_interval(kind);
    return result;
  }
  // As from CUPTI, there is a buffer to return at the next flush. If another thread forwards, that
  // one requests it.
  const std::unique_lock lock(forwarding_, std::try_to_lock);
  if (lock.owns_lock() && !held_) request_buffer();
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::disable(CUpti_ActivityKind kind) {
  if (!is_kind(kind)) return CUPTI_ERROR_INVALID_KIND;
  {
    const std::lock_guard lock(intervals_lock_);
    if (!intervals_[kind].open()) return CUPTI_SUCCESS;
    close_interval(kind);
  }
  return tracing_.share(kind, false);
}

CUptiResult Sharing::enable_runtime_function(CUpti_CallbackId id, std::uint8_t on) {
  const CUptiResult result = enable_function(CUPTI_ACTIVITY_KIND_RUNTIME, on != 0);
  // Where CUPTI makes the records of calls for the collector as well, the collector has chosen.
  if (!tracing_.leaves_to_others(CUPTI_ACTIVITY_KIND_RUNTIME)) return result;
  const auto enable = cupti_.cuptiActivityEnableRuntimeApi;
  return enable ? enable(id, on) : CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult Sharing::enable_driver_function(CUpti_CallbackId id, std::uint8_t on) {
  const CUptiResult result = enable_function(CUPTI_ACTIVITY_KIND_DRIVER, on != 0);
  if (!tracing_.leaves_to_others(CUPTI_ACTIVITY_KIND_DRIVER)) return result;
  const auto enable = cupti_.cuptiActivityEnableDriverApi;
  return enable ? enable(id, on) : CUPTI_ERROR_NOT_SUPPORTED;
}

CUptiResult Sharing::enable_function(CUpti_ActivityKind kind, bool on) {
  const std::lock_guard lock(intervals_lock_);
  if (on) open_interval(kind);
  return CUPTI_SUCCESS;
}

// --- buffers

CUptiResult Sharing::lend_buffers(CUpti_BuffersCallbackRequestFunc request,
                                  CUpti_BuffersCallbackCompleteFunc complete) {
  if (!request || !complete) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::lock_guard lock(forwarding_);
  // A buffer of the functions before is returned to them.
  if (complete != complete_.load()) return_buffer(true);
  request_.store(request);
  complete_.store(complete);
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::flush(std::uint32_t flags) {
  buffers_.flush(flags);
  const bool forced = flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED;
  bool ended = false;
  {
    const std::lock_guard lock(intervals_lock_);
    ended = !any_open();
    if (forced) {
      // Everything from before has been delivered.
      for (Intervals& kind : intervals_) {
        const bool open = kind.open();
        if (open) kind.last[0] = kind.newest();
        kind.count = open;
      }
      if (ended) active_.store(false);
    }
  }
  const std::lock_guard lock(forwarding_);
  return_buffer(forced || ended);
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::flush_period(std::uint32_t ms) {
  flushes_itself_.store(ms > 0);
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::dropped(CUcontext, std::uint32_t, std::size_t* records) {
  if (!records) return CUPTI_ERROR_INVALID_PARAMETER;
  const std::uint64_t cuptis = buffers_.dropped_by_cupti();
  *records =
      dropped_.exchange(0) + static_cast<std::size_t>(cuptis - cuptis_drops_seen_.exchange(cuptis));
  return CUPTI_SUCCESS;
}

void Sharing::completed(std::uint8_t* buffer, std::size_t used) {
  if (used == 0 || !active_.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(forwarding_);
  bool ended = false;
  {
    const std::lock_guard intervals(intervals_lock_);
    looked_at_ = intervals_;
    ended = !any_open();
  }
  clock_.read();
  RecordSizes sizes(cupti_.cuptiActivityGetNextRecord);
  const auto walk = [&](auto&& f) {
    walk_buffer(cupti_.cuptiActivityGetNextRecord, reinterpret_cast<std::byte*>(buffer), used,
                [&](const CUpti_Activity* record) {
                  if (wanted(record)) f(record);
                });
  };
  // A record without a time comes before that of its call.
  walk([this](const CUpti_Activity* record) {
    const Of about = of(record);
    if (about.time != 0) latest_call_ = std::max(latest_call_, about.call);
  });
  walk([&](const CUpti_Activity* record) {
    if (const std::size_t bytes = sizes.of(record->kind)) forward(record, bytes);
  });
  if (ended || flushes_itself_.load()) return_buffer(false);
}

bool Sharing::wanted(const CUpti_Activity* record) const {
  std::size_t kind = record->kind;
  if (kind >= kind_limit) return false;
  if (is_kernel(kind) && looked_at_[kind].count == 0) {
    constexpr std::size_t both = CUPTI_ACTIVITY_KIND_KERNEL + CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    kind = both - kind;  // one mode of tracing for all
  }
  if (looked_at_[kind].count == 0) return false;
  const Of about = of(record);
  return looked_at_[kind].contain(about.time, about.call, latest_call_);
}

Sharing::Of Sharing::of(const CUpti_Activity* record) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(record);
  const Places& at = places()[record->kind];
  Of found;
  if (at.count > 0) std::memcpy(&found.time, bytes + at.times[0], sizeof found.time);
  if (at.call > 0) std::memcpy(&found.call, bytes + at.call, sizeof found.call);
  return found;
}

void Sharing::forward(const CUpti_Activity* record, std::size_t bytes) {
  if (!make_room(bytes)) {
    dropped_.fetch_add(1);
    return;
  }
  std::uint8_t* const copy = held_ + held_used_;
  std::memcpy(copy, record, bytes);
  held_used_ += bytes;
  ++held_records_;
  if (!clock_.chosen()) return;
  const Places& at = places()[record->kind];
  for (std::size_t i = 0; i < at.count; ++i) {
    std::uint64_t time = 0;
    std::memcpy(&time, copy + at.times[i], sizeof time);
    time = clock_.of(time);
    std::memcpy(copy + at.times[i], &time, sizeof time);
  }
}

bool Sharing::make_room(std::size_t bytes) {
  const bool full = held_ && (held_bytes_ - held_used_ < bytes ||
                              (most_records_ > 0 && held_records_ >= most_records_));
  if (full) return_buffer(false);
  if (!held_) request_buffer();
  return held_ && held_bytes_ - held_used_ >= bytes;
}

void Sharing::request_buffer() {
  const auto request = request_.load();
  if (!request) return;
  held_bytes_ = held_used_ = most_records_ = held_records_ = 0;
  request(&held_, &held_bytes_, &most_records_);
}

void Sharing::return_buffer(bool also_empty) {
  const auto complete = complete_.load();
  if (!held_ || !complete || (held_used_ == 0 && !also_empty)) return;
  complete(nullptr, 0, std::exchange(held_, nullptr), held_bytes_, held_used_);
}

// --- times

CUptiResult Sharing::use_clock(CUpti_TimestampCallbackFunc clock) {
  if (!clock) return CUPTI_ERROR_INVALID_PARAMETER;
  clock_function_.store(clock);
  const std::lock_guard lock(forwarding_);
  clock_.choose(clock, cupti_.cuptiGetTimestamp);
  return CUPTI_SUCCESS;
}

CUptiResult Sharing::timestamp(std::uint64_t* time) {
  if (!time) return CUPTI_ERROR_INVALID_PARAMETER;
  const auto clock = clock_function_.load();
  if (!clock) return cupti_.cuptiGetTimestamp(time);
  *time = clock();
  return CUPTI_SUCCESS;
}

void Sharing::read_clock() {
  if (!active_.load()) return;
  const std::unique_lock lock(forwarding_, std::try_to_lock);
  if (lock.owns_lock()) clock_.read();
}

// --- the end of the collector

void Sharing::hand_over() {
  active_.store(false);
  const auto callback = callback_.load();
  if (callback) {
    CUpti_SubscriberHandle own = nullptr;
    if (cupti_.cuptiSubscribe(&own, callback, data_.load()) != CUPTI_SUCCESS) return;
    subscription_.for_each_shared([&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
      cupti_.cuptiEnableCallback(1, own, domain, id);
    });
    handed_over_.store(own);
  }
  subscription_.forget_shared();
  {
    const std::lock_guard lock(forwarding_);
    return_buffer(true);
    if (request_.load()) cupti_.cuptiActivityRegisterCallbacks(request_.load(), complete_.load());
    const auto use = reinterpret_cast<decltype(&::cuptiActivityRegisterTimestampCallback)>(
        cupti_.symbol("cuptiActivityRegisterTimestampCallback"));
    if (clock_.chosen() && use) use(clock_.chosen());
    clock_.choose(nullptr, nullptr);
  }
  clock_function_.store(nullptr);
  request_.store(nullptr);
  complete_.store(nullptr);
  callback_.store(nullptr);
  const std::lock_guard lock(intervals_lock_);
  for (std::size_t kind = 0; kind < kind_limit; ++kind) {
    if (intervals_[kind].open()) cupti_.cuptiActivityEnable(static_cast<CUpti_ActivityKind>(kind));
    intervals_[kind] = {};
  }
}

}  // namespace gpuprof::collect
