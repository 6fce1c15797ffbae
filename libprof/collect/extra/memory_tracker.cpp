#include "libprof/collect/extra/memory_tracker.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "libprof/collect/extra/memory_calls.hpp"
#include "libprof/collect/profiler_calls.hpp"
#include "libprof/wire/row_sender.hpp"

namespace gpuprof::collect {
namespace {

using namespace std::chrono_literals;

constexpr auto between_questions = 1s;
constexpr auto between_sends = 200ms;
constexpr auto between_many = 20ms;    // modules loaded in a row, and calls that fail in a row
constexpr auto context_patience = 1s;  // for a driver that does not answer
constexpr auto answer_patience = 2s;

constexpr std::uint32_t reason_bit(schema::DeviceMemory::Reason reason) {
  return std::uint32_t{1} << static_cast<unsigned>(reason);
}

}  // namespace

MemoryTracker::MemoryTracker(CheckedApi& cupti, Channel& channel, std::function<void()> on_thread,
                             std::function<void()> find_driver,
                             std::function<void(std::string_view)> warn)
    : cupti_(cupti),
      channel_(channel),
      on_thread_(std::move(on_thread)),
      find_driver_(std::move(find_driver)),
      warn_(std::move(warn)) {}

void MemoryTracker::begin(const std::vector<CUcontext>& contexts, bool stacks) {
  if (stacks) {
    if (!stacks_) stacks_ = std::make_unique<CallStacks>();
    if (const std::string warning = stacks_->begin(); !warning.empty()) warn_(warning);
  }
  with_stacks_.store(stacks);
  stops_.store(false);
  answered_.store(false);
  asked_.store(0);
  lost_.store(0);
  {
    const std::lock_guard lock(contexts_mutex_);
    closed_ = false;
    devices_.clear();
    for (CUcontext context : contexts) devices_[context] = device_of(cupti_, context);
  }
  thread_.start<&MemoryTracker::thread_main>(this);
  if (!contexts.empty()) ask(Reason::context);
}

void MemoryTracker::stop() {
  stops_.store(true);
  wake();
  thread_.wait();
  // What came too late for this trace does not belong to the next one.
  const std::lock_guard lock(sending_);
  for (schema::MemoryCall::Row call{}; calls_.pop(call);) {
  }
  answers_.clear();
  named_.clear();
}

std::vector<wire::WireTable> MemoryTracker::tables() {
  std::vector<wire::WireTable> all = CallStacks::tables();
  all.push_back(wire::definition_of<schema::MemoryCall>());
  all.push_back(wire::definition_of<schema::DeviceMemory>());
  return all;
}

// --- on the target's threads

bool MemoryTracker::call(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const CUpti_CallbackData& call) {
  const auto known = memory_calls(domain);
  if (std::ranges::find(known, id) == known.end()) return false;
  if (call.callbackSite == CUPTI_API_ENTER) {
    if (with_stacks_.load(std::memory_order_acquire) && !gives_back(domain, id)) {
      if (stacks_->note(call.correlationId)) wake();
    }
    // Once an address is given back, another thread may get it, so the time is taken now.
    if (call.correlationData) *call.correlationData = gives_back(domain, id) ? now() : 0;
  } else if (call.functionReturnValue) {
    add(domain, id, call);
  }
  return true;
}

void MemoryTracker::add(CUpti_CallbackDomain domain, CUpti_CallbackId id,
                        const CUpti_CallbackData& call) {
  // Results of both runtime and driver are enums of four bytes.
  const std::uint32_t result = *static_cast<const std::uint32_t*>(call.functionReturnValue);
  if (result == 0 && has_record(domain, id)) return;
  const bool runtime = domain == CUPTI_CB_DOMAIN_RUNTIME_API;
  std::atomic<std::uint32_t>& told = told_[call.correlationId % told_.size()];
  if (runtime && told.load(std::memory_order_relaxed) == call.correlationId) return;
  if (!runtime) told.store(call.correlationId, std::memory_order_relaxed);

  const MemoryFacts facts = facts_of(domain, id, call.functionParams, result == 0);
  schema::MemoryCall::Row row{};
  const std::uint64_t began = call.correlationData ? *call.correlationData : 0;
  row.time = began != 0 ? began : now();
  row.thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  row.runtime = runtime;
  row.cbid = id;
  row.address = facts.address;
  row.handle = facts.handle;
  // The database's integers are signed.
  if (facts.bytes) row.bytes = std::min<std::uint64_t>(*facts.bytes, INT64_MAX);
  row.device = facts.device;
  if (!row.device && !facts.of_host && call.context) row.device = device_of(cupti_, call.context);
  row.context = call.contextUid;
  row.result = result;
  row.correlation = call.correlationId;
  if (!calls_.push(row)) lost_.fetch_add(1, std::memory_order_relaxed);
  constexpr std::uint32_t no_memory = 2;  // cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY
  if (result == no_memory) ask(Reason::failure);
}

void MemoryTracker::context_created(CUcontext context) {
  const std::uint32_t device = device_of(cupti_, context);
  {
    const std::unique_lock lock(contexts_mutex_, context_patience);
    if (!lock) return;
    devices_[context] = device;
  }
  ask(Reason::context);
}

// A driver that does not answer our query must not hold up the target forever. It is not queried
// again then, since nothing may be asked of a context that is gone.
void MemoryTracker::context_ends(CUcontext context) {
  ending_.fetch_add(1);
  const std::unique_lock lock(contexts_mutex_, context_patience);
  if (!lock) return;
  devices_.erase(context);
  ending_.fetch_sub(1);
}

void MemoryTracker::ask(Reason reason) {
  asked_.fetch_or(reason_bit(reason));
  wake();
}

void MemoryTracker::wake() {
  wakes_.fetch_add(1);
  if (asleep_.load()) syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

std::uint64_t MemoryTracker::now() {
  std::uint64_t time = 0;
  cupti_.try_("cuptiGetTimestamp", cupti_.cuptiGetTimestamp(&time));
  return time;
}

// --- the thread

void MemoryTracker::sleep_until(Clock::time_point until) {
  const std::uint32_t seen = wakes_.load();
  if (asked_.load() != 0) return;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(until - Clock::now());
  if (left <= 0ns) return;
  const timespec time{static_cast<time_t>(left.count() / 1'000'000'000),
                      static_cast<long>(left.count() % 1'000'000'000)};
  asleep_.store(true);
  if (wakes_.load() == seen) {
    syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
  }
  asleep_.store(false);
}

void MemoryTracker::thread_main() {
  on_thread_();
  auto next_question = Clock::now() + between_questions;
  auto next_module = Clock::now(), next_failure = Clock::now();
  while (channel_.alive() && !stops_.load()) {
    sleep_until(std::min(Clock::now() + between_sends, next_question));
    const std::uint32_t asked = asked_.exchange(0);
    const auto is_asked = [&](Reason reason) { return (asked & reason_bit(reason)) != 0; };
    if (is_asked(Reason::failure) && Clock::now() >= next_failure) {
      read_devices(Reason::failure);
      next_failure = Clock::now() + between_many;
    } else if (is_asked(Reason::context)) {
      read_devices(Reason::context);
    } else if (is_asked(Reason::module) && Clock::now() >= next_module) {
      read_devices(Reason::module);
      next_module = Clock::now() + between_many;
    } else if (Clock::now() >= next_question) {
      read_devices(Reason::interval);
      next_question = Clock::now() + between_questions;
    }
    name_stacks();
    if (is_asked(Reason::end)) {
      read_devices(Reason::end);
      answered_.store(true);
    }
    send();
  }
}

void MemoryTracker::read_devices(Reason reason) {
  find_driver_();
  std::vector<schema::DeviceMemory::Row> answers;
  {
    const std::lock_guard lock(contexts_mutex_);
    if (closed_) return;
    std::set<std::uint32_t> read;
    for (const auto& [context, device] : devices_) {
      if (ending_.load() > 0) break;
      if (!read.insert(device).second) continue;
      schema::DeviceMemory::Row row{};
      row.device = device;
      row.reason = reason;
      if (!device_memory(context, row.free, row.total)) continue;
      row.time = now();
      answers.push_back(row);
    }
  }
  const std::lock_guard lock(sending_);
  answers_.insert(answers_.end(), answers.begin(), answers.end());
}

void MemoryTracker::send() {
  // Rows wait in the ring until the launcher reads again.
  if (channel_.stalled()) return;
  const std::lock_guard lock(sending_);
  wire::RowSender rows(wire::RowSender::Form::batch);
  std::size_t count = 0;
  schema::MemoryCall::Row call{};
  for (; count < ring_rows && calls_.pop(call); ++count) rows.add<schema::MemoryCall>(call);
  count += answers_.size();
  for (const auto& answer : std::exchange(answers_, {})) rows.add<schema::DeviceMemory>(answer);
  for (const auto& named : std::exchange(named_, {})) named.add_to(rows);
  for (const auto& payload : rows.take()) {
    const auto sent = channel_.send(wire::FrameType::batch, payload);
    if (sent == Channel::Sent::refused) lost_.fetch_add(count);
  }
}

void MemoryTracker::name_stacks() {
  constexpr int most_rounds = 8;  // if calls come as fast as they are named
  for (int round = 0; with_stacks_.load() && round < most_rounds; ++round) {
    auto named = stacks_->name();
    if (const std::string warning = stacks_->take_warning(); !warning.empty()) warn_(warning);
    if (named.empty()) return;
    const std::lock_guard lock(sending_);
    named_.push_back(std::move(named));
  }
}

// --- the end

void MemoryTracker::finish() {
  if (!answered_.load()) {
    ask(Reason::end);
    const auto until = Clock::now() + answer_patience;
    while (!answered_.load() && Clock::now() < until && channel_.alive()) {
      const timespec time{0, 1'000'000};
      nanosleep(&time, nullptr);
    }
    const std::unique_lock lock(contexts_mutex_, context_patience);
    if (lock) closed_ = true;
  }
  send();
  if (!channel_.stalled()) return;
  const std::lock_guard lock(sending_);
  for (schema::MemoryCall::Row call{}; calls_.pop(call);) lost_.fetch_add(1);
}

std::vector<wire::Statistic> MemoryTracker::statistics() const {
  std::vector<wire::Statistic> all;
  if (const std::uint64_t lost = lost_.load()) {
    all.push_back(wire::Statistic("", "memory_calls_lost", lost));
  }
  if (const std::uint64_t lost = stacks_ ? stacks_->lost() : 0) {
    all.push_back(wire::Statistic("", "call_stacks_lost", lost));
  }
  return all;
}

}  // namespace gpuprof::collect
