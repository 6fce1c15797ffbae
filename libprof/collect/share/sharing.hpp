// CUPTI for another client in the target, such as torch.profiler: CUPTI has one subscriber, which
// is the collector, and the client gets what it asks for from here.
//
// CUPTI calls the collector back and fills its buffers; the client's callbacks are called from
// there, and records of the kinds that it enabled are copied into buffers that it lends, with times
// in its clock. One client at a time, any number in turn. Nothing here allocates. Any thread; locks
// are not held while CUPTI works, because the client may lock in its own functions, too.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "libprof/collect/buffers.hpp"
#include "libprof/collect/checked_api.hpp"
#include "libprof/collect/record_sizes.hpp"
#include "libprof/collect/share/client_clock.hpp"
#include "libprof/collect/subscription.hpp"
#include "libprof/collect/tracing.hpp"

namespace gpuprof::collect {

class Sharing {
 public:
  Sharing(CheckedApi& cupti, Subscription& subscription, Tracing& tracing, Buffers& buffers)
      : cupti_(cupti), subscription_(subscription), tracing_(tracing), buffers_(buffers) {}

  // What the client calls: each has the arguments of the CUPTI function that it answers for.
  CUptiResult subscribe(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc callback, void* data);
  CUptiResult unsubscribe(CUpti_SubscriberHandle handle);
  CUptiResult enable_callback(std::uint32_t on, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain, CUpti_CallbackId id);
  CUptiResult enable_domain(std::uint32_t on, CUpti_SubscriberHandle handle,
                            CUpti_CallbackDomain domain);
  CUptiResult enable_all_domains(std::uint32_t on, CUpti_SubscriberHandle handle);
  CUptiResult callback_state(std::uint32_t* on, CUpti_SubscriberHandle handle,
                             CUpti_CallbackDomain domain, CUpti_CallbackId id);
  CUptiResult lend_buffers(CUpti_BuffersCallbackRequestFunc request,
                           CUpti_BuffersCallbackCompleteFunc complete);
  CUptiResult enable(CUpti_ActivityKind kind);
  CUptiResult disable(CUpti_ActivityKind kind);
  CUptiResult enable_in_context(CUcontext, CUpti_ActivityKind kind) { return enable(kind); }
  CUptiResult disable_in_context(CUcontext, CUpti_ActivityKind kind) { return disable(kind); }
  CUptiResult enable_runtime_function(CUpti_CallbackId id, std::uint8_t on);
  CUptiResult enable_driver_function(CUpti_CallbackId id, std::uint8_t on);
  CUptiResult flush(std::uint32_t flags);
  CUptiResult flush_period(std::uint32_t ms);
  CUptiResult use_clock(CUpti_TimestampCallbackFunc clock);
  CUptiResult timestamp(std::uint64_t* time);
  CUptiResult dropped(CUcontext, std::uint32_t stream, std::size_t* records);
  // The size of CUPTI's buffers on the GPU and its ids of threads are the collector's choice.
  CUptiResult set_attribute(CUpti_ActivityAttribute, std::size_t* size, void* value) {
    return size && value ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
  }
  CUptiResult set_thread_ids(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
  CUptiResult finalize();

  // CUPTI has filled a buffer.
  void completed(std::uint8_t* buffer, std::size_t used);
  // CUPTI calls back, and the client has asked for that.
  void called_back(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) const {
    if (const auto callback = callback_.load(std::memory_order_acquire)) {
      callback(data_.load(std::memory_order_acquire), domain, id, data);
    }
  }
  // Call a few times a second.
  void read_clock();
  // The collector has unsubscribed: CUPTI gets the client, as if it had come now.
  void hand_over();
  // What CUPTI knows the subscriber as that has this handle.
  CUpti_SubscriberHandle cuptis_handle(CUpti_SubscriberHandle handle) const {
    const CUpti_SubscriberHandle own = handed_over_.load();
    return own && handle == this->handle() ? own : handle;
  }

 private:
  static constexpr std::uint64_t never = UINT64_MAX;
  // While a kind was enabled, on CUPTI's clock; and the last calls, before and within it, of the
  // threads that enabled and disabled it (correlation ids, 0: unknown). Work that was requested
  // before may begin within it, and work that was requested within may begin afterwards.
  struct Interval {
    std::uint64_t from = never;
    std::uint64_t to = 0;
    std::uint32_t call_before = 0;
    std::uint32_t last_call = 0;

    // `time`: its start, 0 if it has none; `call`: its correlation id, 0 if it has none. `latest`:
    // of what is known to be in an interval.
    bool contains(std::uint64_t time, std::uint32_t call, std::uint32_t latest) const {
      const bool is_later = call_before == 0 || call == 0 || call > call_before;
      const bool is_earlier =
          (time != 0 ? time < to : call <= latest) || (call != 0 && call <= last_call);
      return is_later && (time == 0 || time >= from) && (to == never || is_earlier);
    }
  };
  // The last intervals of a kind; the newest is at `count` - 1, modulo their number.
  struct Intervals {
    std::array<Interval, 16> last{};
    std::size_t count = 0;

    bool open() const { return count > 0 && newest().to == never; }
    bool contain(std::uint64_t time, std::uint32_t call, std::uint32_t latest) const;
    const Interval& newest() const { return last[(count - 1) % last.size()]; }
    Interval& newest() { return last[(count - 1) % last.size()]; }
  };
  // Offsets in a kind's records.
  struct Places {
    std::array<std::uint16_t, 5> times{};
    std::size_t count = 0;   // of times
    std::uint16_t call = 0;  // the correlation id; 0: it has none
  };

  static const std::array<Places, kind_limit>& places();
  CUpti_SubscriberHandle handle() const {
    return reinterpret_cast<CUpti_SubscriberHandle>(const_cast<Sharing*>(this));
  }
  bool is_client(CUpti_SubscriberHandle handle) const {
    return handle == this->handle() && callback_.load();
  }
  std::uint64_t now() const;
  CUptiResult enable_function(CUpti_ActivityKind kind, bool on);
  void disable_callbacks();
  // Under intervals_lock_.
  bool any_open() const;
  void open_interval(std::size_t kind);
  void close_interval(std::size_t kind);

  // Under forwarding_.
  struct Of {
    std::uint64_t time = 0;
    std::uint32_t call = 0;
  };
  static Of of(const CUpti_Activity* record);
  void forward(const CUpti_Activity* record, std::size_t bytes);
  bool wanted(const CUpti_Activity* record) const;
  bool make_room(std::size_t bytes);
  void request_buffer();
  void return_buffer(bool also_empty);

  CheckedApi& cupti_;
  Subscription& subscription_;
  Tracing& tracing_;
  Buffers& buffers_;

  std::atomic<CUpti_CallbackFunc> callback_{nullptr};  // null: there is no subscriber
  std::atomic<void*> data_{nullptr};
  std::atomic<CUpti_BuffersCallbackRequestFunc> request_{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> complete_{nullptr};
  std::atomic<CUpti_SubscriberHandle> handed_over_{nullptr};
  std::atomic<bool> flushes_itself_{false};                           // cuptiActivityFlushPeriod
  std::atomic<CUpti_TimestampCallbackFunc> clock_function_{nullptr};  // null: CUPTI's clock
  std::atomic<std::size_t> dropped_{0};
  std::atomic<std::uint64_t> cuptis_drops_seen_{0};

  std::atomic<bool> active_{false};  // records may be of interest
  mutable std::mutex intervals_lock_;
  std::array<Intervals, kind_limit> intervals_{};

  std::mutex forwarding_;  // guards what follows; held while the client's functions are called
  std::array<Intervals, kind_limit> looked_at_{};  // a copy for the buffer that is forwarded
  std::uint32_t latest_call_ = 0;                  // of the records with a time that were forwarded
  ClientClock clock_;
  std::uint8_t* held_ = nullptr;  // the client's buffer that is being filled
  std::size_t held_bytes_ = 0, held_used_ = 0, most_records_ = 0, held_records_ = 0;
};

}  // namespace gpuprof::collect
