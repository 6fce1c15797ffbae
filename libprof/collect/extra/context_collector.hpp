// Data collected per context, through CUPTI calls that require one thread at a time.
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

  // Called in CUPTI's callbacks.
  virtual void context_created(CUcontext context) = 0;
  virtual void context_ends(CUcontext context) = 0;
  // A module is about to be unloaded, or is being unloaded; by CUPTI's notice of the latter, part
  // of its data is gone.
  virtual void module_ends(CUcontext context) = 0;

  // Called from the collector's own thread at intervals.
  virtual void watch() {}
  // Call when the GPU is idle. The target may go on, but nothing more is collected.
  virtual void finish() = 0;

  virtual std::vector<wire::Statistic> statistics() const = 0;
};

struct KnownContext {
  CUcontext handle = nullptr;
  std::uint32_t id = 0;
  std::uint32_t device = 0;
  std::atomic<bool> ended{false};
  std::string not_yet;  // why it has not begun though it should; under calls_

  std::string in_words() const {
    return "context " + std::to_string(id) + " on device " + std::to_string(device);
  }
};

// Tracks when contexts begin and end, and serializes the CUPTI calls. `Context` derives from
// KnownContext and has at least a State, initially waiting.
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
      // A context created while collecting begins is reported twice.
      if (finished_ || known(handle)) return;
      contexts_.push_back(std::move(made));
    }
    // Immediately, so that the first launches are not missed.
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
  // All of these are called under calls_.
  virtual void begin(Context& context) = 0;
  virtual void read(Context& context) = 0;
  virtual void end(Context& context) = 0;
  // Stops collecting from it, and reports the reason.
  virtual void refuse(Context& context, const std::string& why) = 0;

  void read_of(CUcontext handle) {
    Context* const context = find(handle);
    if (!context) return;
    if (const std::unique_lock lock(calls_, patience); lock) read(*context);
  }

  // Contexts are never removed: callbacks keep pointers. Any thread.
  std::vector<Context*> all() const {
    const std::lock_guard lock(contexts_mutex_);
    std::vector<Context*> contexts;
    for (const auto& context : contexts_) contexts.push_back(context.get());
    return contexts;
  }

  // Null: unknown, or ended. Any thread.
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

  // Null: unknown, or ended. Under contexts_mutex_.
  Context* known(CUcontext handle) const {
    for (const auto& context : contexts_) {
      if (context->handle == handle && !context->ended.load()) return context.get();
    }
    return nullptr;
  }

  mutable std::mutex contexts_mutex_;  // never held during a CUPTI call
  std::vector<std::unique_ptr<Context>> contexts_;
  bool finished_ = false;
};

}  // namespace gpuprof::collect
