// What is collected of each context apart, by calls of CUPTI that want one thread at a time.
#pragma once

#include <cupti.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "libprof/collect/profiler_calls.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::collect {

class ContextCollector {
 public:
  virtual ~ContextCollector() = default;

  // In CUPTI's callbacks.
  virtual void context_created(CUcontext context) = 0;
  virtual void context_ends(CUcontext context) = 0;
  // A module is to be unloaded, or is being: when CUPTI tells of the latter, some of what it had is
  // gone.
  virtual void module_ends(CUcontext context) = 0;

  // From the own thread, now and then.
  virtual void watch() {}
  // When the GPU is idle. The target may go on, and nothing more is collected of it.
  virtual void finish() = 0;

  virtual std::vector<wire::Statistic> statistics() const = 0;
};

struct KnownContext {
  CUcontext handle = nullptr;
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  std::atomic<bool> ended{false};
  std::string not_yet;  // why it has not begun, though it was to; under calls_

  std::string in_words() const {
    return "context " + std::to_string(id) + " on device " + std::to_string(device);
  }
};

// When the contexts begin and end, and who calls CUPTI meanwhile. `Context`: KnownContext and what
// is known besides: a State, which is waiting at first.
template <class Context>
class CollectorOf : public ContextCollector {
 public:
  explicit CollectorOf(CheckedApi& cupti) : cupti_(cupti) {}

  void context_created(CUcontext handle) final {
    auto made = std::make_unique<Context>();
    Context& context = *made;
    context.handle = handle;
    context.id = id_of(cupti_, handle);
    context.device = device_of(cupti_, handle);
    {
      const std::lock_guard lock(contexts_mutex_);
      // One that is made while collecting begins is heard of twice.
      if (finished_ || known(handle)) return;
      contexts_.push_back(std::move(made));
    }
    // At once, so that nothing of what is launched first is missed.
    if (const std::unique_lock lock(calls_, patience); lock) begin(context);
  }

  void context_ends(CUcontext handle) final {
    Context* const context = find(handle);
    if (!context) return;
    if (const std::unique_lock lock(calls_, patience); lock) end_or_tell(*context);
    context->ended.store(true);
  }

  void module_ends(CUcontext handle) final { read_of(handle); }

  void finish() final {
    {
      const std::lock_guard lock(contexts_mutex_);
      finished_ = true;
    }
    for (Context* const context : all()) {
      const std::unique_lock lock(calls_, patience);
      if (lock && !context->ended.exchange(true)) end_or_tell(*context);
    }
  }

 protected:
  // All of these under calls_.
  virtual void begin(Context& context) = 0;
  virtual void read(Context& context) = 0;
  virtual void end(Context& context) = 0;
  // Nothing is collected of it, for a reason that is told.
  virtual void refuse(Context& context, const std::string& why) = 0;

  void read_of(CUcontext handle) {
    Context* const context = find(handle);
    if (!context) return;
    if (const std::unique_lock lock(calls_, patience); lock) read(*context);
  }

  // They are never taken out: callbacks keep pointers. Any thread.
  std::vector<Context*> all() const {
    const std::lock_guard lock(contexts_mutex_);
    std::vector<Context*> contexts;
    for (const auto& context : contexts_) contexts.push_back(context.get());
    return contexts;
  }

  // Null: it is not in here, or has ended. Any thread.
  Context* find(CUcontext handle) const {
    const std::lock_guard lock(contexts_mutex_);
    return known(handle);
  }

  // Any thread.
  bool has(const Context* context) const {
    const std::lock_guard lock(contexts_mutex_);
    return std::ranges::any_of(contexts_, [&](const auto& each) { return each.get() == context; });
  }

  static constexpr std::chrono::milliseconds patience{1000};
  CheckedApi& cupti_;
  std::timed_mutex calls_;  // held while CUPTI is called

 private:
  void end_or_tell(Context& context) {
    const bool waiting = context.state == Context::State::waiting;
    if (waiting && !context.not_yet.empty()) return refuse(context, context.not_yet);
    end(context);
  }

  // Null: it is not in here, or has ended. Under contexts_mutex_.
  Context* known(CUcontext handle) const {
    for (const auto& context : contexts_) {
      if (context->handle == handle && !context->ended.load()) return context.get();
    }
    return nullptr;
  }

  mutable std::mutex contexts_mutex_;  // held for no call of CUPTI's
  std::vector<std::unique_ptr<Context>> contexts_;
  bool finished_ = false;
};

}  // namespace gpuprof::collect
