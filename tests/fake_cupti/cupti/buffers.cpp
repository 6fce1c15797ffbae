#include "tests/fake_cupti/cupti/buffers.hpp"

#include <pthread.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cupti/records.hpp"
#include "tests/fake_cupti/cupti/settings.hpp"

namespace fake {
namespace {

struct Pending {
  std::size_t record;    // offset
  std::size_t times_at;  // offset in the record
  std::uint64_t start;
  std::uint64_t end;
};

struct Buffer {
  std::uint8_t* bytes = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  bool forced = false;  // given back as it is
  std::vector<Pending> pending;

  std::uint64_t done_at() const {
    std::uint64_t moment = 0;
    for (const Pending& work : pending) moment = std::max(moment, work.end);
    return moment;
  }
};

// What a thread is filling.
struct ThreadBuffer {
  std::mutex mutex;
  std::unique_ptr<Buffer> buffer;
};

// Never destroyed: threads outlive static destructors.
struct Buffers {
  std::atomic<CUpti_BuffersCallbackRequestFunc> requested{nullptr};
  std::atomic<CUpti_BuffersCallbackCompleteFunc> completed{nullptr};
  std::atomic<std::uint64_t> clock_ahead{0};  // of timestamp()
  std::atomic<std::size_t> dropped{0};
  std::atomic<bool> forked{false};

  std::mutex mutex;  // guards what follows
  std::vector<std::shared_ptr<ThreadBuffer>> threads;
  std::deque<std::unique_ptr<Buffer>> full;
  std::uint64_t queued = 0;
  std::uint64_t delivered = 0;
  bool worker_started = false;
  std::condition_variable changed;
};

Buffers& all() {
  static Buffers* const it = new Buffers;
  return *it;
}

ThreadBuffer& of_this_thread() {
  thread_local const std::shared_ptr<ThreadBuffer> mine = [] {
    auto made = std::make_shared<ThreadBuffer>();
    const std::lock_guard lock(all().mutex);
    all().threads.push_back(made);
    return made;
  }();
  return *mine;
}

void wait_until(std::uint64_t moment) {
  for (std::uint64_t now = timestamp(); now < moment; now = timestamp()) {
    const std::uint64_t left = moment - now;
    const timespec time{static_cast<time_t>(left / 1'000'000'000),
                        static_cast<long>(left % 1'000'000'000)};
    nanosleep(&time, nullptr);
  }
}

void set_kind(std::uint8_t* record, std::uint32_t kind) {
  // Last of all: whoever sees the kind sees the record.
  std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(record))
      .store(kind, std::memory_order_release);
}

std::uint32_t kind_of(const std::uint8_t* record) {
  std::uint32_t kind;
  std::memcpy(&kind, record, sizeof kind);
  return kind;
}

// Finishes what the device has done, and hands the buffer over.
void deliver(std::unique_ptr<Buffer> buffer) {
  if (!buffer->forced) wait_until(buffer->done_at());
  const std::uint64_t now = timestamp();
  for (const Pending& work : buffer->pending) {
    std::uint8_t* record = buffer->bytes + work.record;
    if (work.end <= now) {
      const std::uint64_t times[] = {in_clients_clock(work.start), in_clients_clock(work.end)};
      std::memcpy(record + work.times_at, times, sizeof times);
    }
    set_kind(record, kind_of(record) & ~unfinished);
  }
  if (const auto completed = all().completed.load()) {
    completed(nullptr, 0, buffer->bytes, buffer->size, buffer->used);
  }
}

void work() {
  std::unique_lock lock(all().mutex);
  while (true) {
    all().changed.wait(lock, [] { return !all().full.empty(); });
    std::unique_ptr<Buffer> buffer = std::move(all().full.front());
    all().full.pop_front();
    lock.unlock();
    deliver(std::move(buffer));
    lock.lock();
    ++all().delivered;
    all().changed.notify_all();
  }
}

void start_worker_locked() {
  if (all().worker_started) return;
  all().worker_started = true;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, &before);
  while (true) {
    try {
      std::thread worker(work);
      pthread_setname_np(worker.native_handle(), "cupti");  // not its creator's
      worker.detach();
      break;
    } catch (const std::system_error&) {
      // While another thread is in execve(), Linux makes none.
      wait_until(timestamp() + 1'000'000);
    }
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void queue(std::unique_ptr<Buffer> buffer) {
  const std::lock_guard lock(all().mutex);
  start_worker_locked();
  all().full.push_back(std::move(buffer));
  ++all().queued;
  all().changed.notify_all();
}

// Driver calls of the collector, and CUPTI's own kernels: not part of what a test expects to find.
bool is_unexpected(std::uint32_t kind, const void* record) {
  if (kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    return static_cast<const CUpti_ActivityKernel13*>(record)->name == own_kernel_name;
  }
  return kind == CUPTI_ACTIVITY_KIND_DRIVER &&
         is_only_collectors(static_cast<const CUpti_ActivityAPI*>(record)->cbid);
}

std::unique_ptr<Buffer> request() {
  const auto requested = all().requested.load();
  if (!requested) return nullptr;
  auto buffer = std::make_unique<Buffer>();
  std::size_t most_records = 0;
  requested(&buffer->bytes, &buffer->size, &most_records);
  return buffer->bytes ? std::move(buffer) : nullptr;
}

void write(std::uint32_t kind, const void* record, const Pending* pending) {
  const std::size_t size = record_size(kind);
  if (size == 0) return;
  if (all().forked.load()) {
    // CUPTI may well still ask. There is nobody to give the buffer back to.
    std::uint8_t* bytes = nullptr;
    std::size_t room = 0, most_records = 0;
    if (const auto requested = all().requested.load()) requested(&bytes, &room, &most_records);
    return;
  }
  ThreadBuffer& mine = of_this_thread();
  std::unique_lock lock(mine.mutex);
  if (mine.buffer && mine.buffer->size - mine.buffer->used < size) {
    std::unique_ptr<Buffer> full = std::move(mine.buffer);
    lock.unlock();
    queue(std::move(full));
    lock.lock();
  }
  if (!mine.buffer) {
    // Only this thread puts a buffer here, so it is still missing after the call.
    lock.unlock();
    auto fresh = request();
    lock.lock();
    mine.buffer = std::move(fresh);
  }
  if (!mine.buffer) {
    all().dropped.fetch_add(1);
    return;
  }
  Buffer& buffer = *mine.buffer;
  std::uint8_t* place = buffer.bytes + buffer.used;
  std::memcpy(place + 4, static_cast<const std::uint8_t*>(record) + 4, size - 4);
  if (pending) {
    std::memset(place + pending->times_at, 0, 16);
    buffer.pending.push_back(*pending);
    buffer.pending.back().record = buffer.used;
  }
  set_kind(place, pending ? kind | unfinished : kind);
  buffer.used += size;
  if (!is_unexpected(kind, record)) note_in_ledger(kind);
}

}  // namespace

bool is_only_collectors(std::uint32_t cbid) {
  switch (cbid) {
    case CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion:
    case CUPTI_DRIVER_TRACE_CBID_cuDeviceGetCount:
    case CUPTI_DRIVER_TRACE_CBID_cuDeviceGetAttribute:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSetCurrent:
    case CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize: return true;
    default: return false;
  }
}

std::uint64_t timestamp() {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

// The quickest of some readings counts.
void use_clock(CUpti_TimestampCallbackFunc clock) {
  std::uint64_t best = UINT64_MAX;
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t before = timestamp();
    const std::uint64_t clients = clock();
    const std::uint64_t width = timestamp() - before;
    if (width >= best) continue;
    best = width;
    all().clock_ahead.store(clients - before - width / 2);
  }
}

std::uint64_t in_clients_clock(std::uint64_t time) { return time + all().clock_ahead.load(); }

void register_buffer_callbacks(CUpti_BuffersCallbackRequestFunc requested,
                               CUpti_BuffersCallbackCompleteFunc completed) {
  all().requested.store(requested);
  all().completed.store(completed);
}

void append(std::uint32_t kind, const void* record) { write(kind, record, nullptr); }

void append_unfinished(std::uint32_t kind, const void* record, std::size_t times_at,
                       std::uint64_t start, std::uint64_t end) {
  const Pending pending{0, times_at, start, end};
  write(kind, record, &pending);
}

void flush_all(bool forced) {
  if (all().forked.load()) return;
  std::vector<std::shared_ptr<ThreadBuffer>> threads;
  {
    const std::lock_guard lock(all().mutex);
    threads = all().threads;
  }
  const std::uint64_t now = timestamp();
  for (const auto& thread : threads) {
    std::unique_ptr<Buffer> buffer;
    {
      const std::lock_guard lock(thread->mutex);
      if (!thread->buffer) continue;
      if (!forced && (thread->buffer->used == 0 || thread->buffer->done_at() > now)) continue;
      buffer = std::move(thread->buffer);
    }
    buffer->forced = forced;
    if (deliver_in_flush()) {
      deliver(std::move(buffer));
    } else {
      queue(std::move(buffer));
    }
  }
  std::unique_lock lock(all().mutex);
  const std::uint64_t until = all().queued;
  all().changed.wait(lock, [&] { return all().delivered >= until; });
}

std::size_t take_dropped() { return all().dropped.exchange(0); }

void buffers_forked() { all().forked.store(true); }
bool are_forked() { return all().forked.load(); }

}  // namespace fake
