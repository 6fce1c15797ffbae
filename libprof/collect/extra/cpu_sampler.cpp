#include "libprof/collect/extra/cpu_sampler.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/collect/driver.hpp"
#include "libprof/collect/extra/own_memory.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::collect {
namespace {

using namespace std::chrono_literals;

constexpr int sampling_signal = SIGURG;
constexpr auto copies_every = 10ms;
constexpr auto threads_every = 20ms;
constexpr auto new_threads_every = 2ms;  // at most, those of which not enough was seen yet
constexpr auto longest_pause = 1s;       // until a thread that blocks the signal is looked at again
constexpr auto python_every = 1s;
constexpr auto sent_every = 200ms;
constexpr auto end_patience = 2s;             // of finish(), for our thread
constexpr auto handlers_patience = 1s;        // of our thread, for handlers that run
constexpr std::size_t most_unsent = 1 << 16;  // rows, while the launcher does not read

// The clock of a thread's processor time, as the kernel numbers them.
constexpr clockid_t clock_of(pid_t thread) {
  constexpr unsigned of_scheduler = 2, of_thread = 4;
  return static_cast<clockid_t>(~static_cast<unsigned>(thread) << 3 | of_thread | of_scheduler);
}

// nullopt: it has ended.
std::optional<std::chrono::nanoseconds> processor_time(pid_t thread) {
  timespec time{};
  if (clock_gettime(clock_of(thread), &time) != 0) return std::nullopt;
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

timespec timespec_of(std::chrono::nanoseconds time) {
  return {static_cast<time_t>(time.count() / 1'000'000'000),
          static_cast<long>(time.count() % 1'000'000'000)};
}

}  // namespace

std::atomic<CpuSampler*> CpuSampler::instance_{nullptr};
struct sigaction CpuSampler::before_ = {};

CpuSampler::CpuSampler(Host host) : host_(std::move(host)) {}

std::vector<wire::WireTable> CpuSampler::tables() {
  return {wire::definition_of<schema::CpuSample>(), wire::definition_of<schema::StackEntry>(),
          wire::definition_of<schema::StackFrame>()};
}

void CpuSampler::begin(std::chrono::nanoseconds interval) {
  if (!done_.load()) return host_.warn("no CPU samples: the last trace has not ended");
  process_ = getpid();
  interval_ = interval;
  // Not initialized, as a whole: most of it is never used.
  if (!targets_) targets_.reset(new Targets);
  if (!copies_) copies_.reset(new Copies);
  if (!python_) python_ = std::make_unique<PythonThreads>(process_);
  lost_.store(0);
  stops_.store(false);
  done_.store(false);
  if (start_thread(&thread_entry, this)) return;
  done_.store(true);
  host_.warn("no CPU samples: there is no thread for them");
}

void CpuSampler::finish() {
  stops_.store(true);
  wakes_.fetch_add(1);
  syscall(SYS_futex, &wakes_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  // Within bounds: the caller may hold a lock of the dynamic loader.
  const auto until = Clock::now() + end_patience;
  while (!done_.load() && Clock::now() < until) {
    const timespec time = timespec_of(1ms);
    nanosleep(&time, nullptr);
  }
  active_.store(false);
}

// --- our thread

void* CpuSampler::thread_entry(void* argument) noexcept {
  auto& self = *static_cast<CpuSampler*>(argument);
  try {
    self.host_.on_thread();
    self.sample();
  } catch (...) {
  }
  try {
    self.end_sampling();
  } catch (...) {
  }
  self.done_.store(true);
  return nullptr;
}

void CpuSampler::say_once(const std::string& text) {
  if (said_.insert(text).second) host_.warn(text);
}

void CpuSampler::sample() {
  any_sampled_ = false;
  said_.clear();
  left_out_.clear();
  rows_.clear();
  unsent_ = 0;
  sender_ = std::make_unique<wire::RowSender>(wire::RowSender::Form::batch);
  unwinder_ = std::make_unique<StackUnwinder>(
      modules_, [process = process_](std::uint64_t from, void* to, std::size_t bytes) {
        return read_own_memory(process, from, to, bytes);
      });
  stacks_ = std::make_unique<CpuStacks>(modules_, *python_);
  free_numbers_.clear();
  for (std::size_t i = most_targets; i-- > 0;) free_numbers_.push_back(i);
  for (Copy& copy : *copies_) copy.state.store(Copy::free);
  copies_made_.store(0);
  random_.seed(static_cast<unsigned>(clock_ns(CLOCK_MONOTONIC)));
  const std::string why = why_no_handler();
  if (!why.empty()) return say_once("no CPU samples: " + why);
  active_.store(true);
  next_threads_ = next_python_ = Clock::now();
  next_send_ = Clock::now() + sent_every;
  while (!stops_.load() && host_.channel.alive()) {
    {
      const Costs::Scope timed(host_.costs, wire::Count::background_samples,
                               Costs::Scope::Clock::processor);
      if (!has_handler()) {
        is_over_ = true;
        say_once("CPU samples end here: the program has a handler of its own for SIGURG now");
        return;
      }
      const auto now = Clock::now();
      if (now >= next_python_) {
        find_python();
        next_python_ = now + python_every;
      }
      if (now >= next_threads_) {
        look_at_sampled_threads();
        look_for_threads();
        next_threads_ = now + threads_every;
      }
      look_at_new_threads();
      take_copies();
      if (now >= next_send_) {
        send();
        next_send_ = now + sent_every;
      }
    }
    sleep();
  }
}

void CpuSampler::end_sampling() {
  const auto main_thread = left_out_.find(process_);
  if (active_.load() && !any_sampled_ && main_thread != left_out_.end() &&
      main_thread->second.blocks) {
    say_once("no CPU samples: the program's threads block SIGURG");
  }
  active_.store(false);
  while (!numbers_.empty()) remove_thread(numbers_.begin()->second);
  const auto until = Clock::now() + handlers_patience;
  while (handlers_.load() > 0 && Clock::now() < until) {
    const timespec time = timespec_of(1ms);
    nanosleep(&time, nullptr);
  }
  give_back_handler();
  if (!sender_) return;
  take_copies();
  send();
}

void CpuSampler::sleep() {
  const std::uint32_t seen = wakes_.load();
  if (stops_.load()) return;
  const timespec time = timespec_of(any_new_ ? new_threads_every : copies_every);
  syscall(SYS_futex, &wakes_, FUTEX_WAIT_PRIVATE, seen, &time, nullptr, 0);
}

// --- the handler

bool CpuSampler::has_handler() const {
  struct sigaction now = {};
  return sigaction(sampling_signal, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) &&
         now.sa_sigaction == &interrupted;
}

std::string CpuSampler::why_no_handler() {
  if (is_over_) return "the program has a handler of its own for SIGURG";
  char byte = 0;
  if (!read_own_memory(process_, reinterpret_cast<std::uint64_t>(&byte), &byte, 1)) {
    return "process_vm_readv is not allowed here";
  }
  instance_.store(this);
  if (has_handler()) return {};  // of the last trace
  if (sigaction(sampling_signal, nullptr, &before_) != 0) return "SIGURG cannot be handled";
  struct sigaction ours = before_;
  // The program's own signals come as it asked for them.
  const bool has_own = (before_.sa_flags & SA_SIGINFO) ||
                       (before_.sa_handler != SIG_DFL && before_.sa_handler != SIG_IGN);
  if (!has_own) ours.sa_flags = SA_RESTART | SA_ONSTACK;
  ours.sa_flags |= SA_SIGINFO;
  ours.sa_flags &= ~static_cast<int>(SA_RESETHAND);
  ours.sa_sigaction = &interrupted;
  return sigaction(sampling_signal, &ours, nullptr) == 0 ? "" : "SIGURG cannot be handled";
}

// A signal that a thread has blocked would go to the program's handler: ours stays then.
void CpuSampler::give_back_handler() {
  if (!has_handler()) return;
  const bool ignores = !(before_.sa_flags & SA_SIGINFO) &&
                       (before_.sa_handler == SIG_DFL || before_.sa_handler == SIG_IGN);
  bool pending = false;
  if (!ignores) {
    each_thread([&](pid_t thread) {
      const auto masks = masks_of(thread);
      pending |= masks && masks->has_pending(sampling_signal);
    });
  }
  if (!pending) sigaction(sampling_signal, &before_, nullptr);
}

// --- threads and their timers

bool CpuSampler::make_timer(pid_t thread, Target& target) {
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = sampling_signal;
  event.sigev_value.sival_ptr = &target;
  event._sigev_un._tid = thread;
  int timer = -1;
  if (syscall(SYS_timer_create, clock_of(thread), &event, &timer) != 0) {
    const int error = errno;
    if (error == EINVAL || error == ESRCH) return false;  // it has ended
    say_once("CPU samples lack threads: timer_create: " + std::string(std::strerror(error)) +
             (error == EAGAIN ? ", the limit of pending signals is reached (ulimit -i)" : ""));
    return false;
  }
  target.timer = timer;
  target.waits_for_signal.store(false);
  target.seen_taken = target.taken.load();
  target.id.store(thread);
  // The first time at random, for threads that end before the first interval is over.
  std::uniform_int_distribution<std::int64_t> first(1, interval_.count());
  const itimerspec times{timespec_of(interval_),
                         timespec_of(std::chrono::nanoseconds(first(random_)))};
  if (syscall(SYS_timer_settime, timer, 0, &times, nullptr) == 0) return true;
  syscall(SYS_timer_delete, timer);
  target.id.store(0);
  return false;
}

bool CpuSampler::add_thread(pid_t thread, LeftOut& left_out) {
  using Finding = MaskSightings::Finding;
  const auto masks = masks_of(thread);
  const auto ran = processor_time(thread);
  if (!masks || !ran) return true;
  if (free_numbers_.empty()) say_once("CPU samples lack threads: there are too many");
  const bool is_soon = left_out.seen.may_be_new(*ran) && !left_out.seen.is_slow();
  const Finding finding = left_out.seen.add(*masks, sampling_signal, *ran);
  left_out.blocks = finding == Finding::blocks;
  const std::size_t number = free_numbers_.empty() ? most_targets : free_numbers_.back();
  if (finding == Finding::lets_through && number < most_targets &&
      make_timer(thread, (*targets_)[number])) {
    any_sampled_ = true;
    free_numbers_.pop_back();
    (*targets_)[number].still_there = true;
    (*targets_)[number].certain = *ran;
    numbers_[thread] = number;
    return true;
  }
  const bool is_known = finding != Finding::not_known;
  left_out.pause = is_soon && !is_known
                       ? new_threads_every
                       : std::clamp<Clock::duration>(2 * left_out.pause,
                                                     is_known ? threads_every : new_threads_every,
                                                     is_known ? longest_pause : threads_every);
  left_out.next = Clock::now() + left_out.pause;
  return false;
}

void CpuSampler::remove_thread(std::size_t number) {
  Target& target = (*targets_)[number];
  syscall(SYS_timer_delete, target.timer);
  numbers_.erase(target.id.load());
  target.id.store(0);
  target.python.store(0);
  free_numbers_.push_back(number);
}

void CpuSampler::look_for_threads() {
  for (auto& [thread, number] : numbers_) (*targets_)[number].still_there = false;
  for (auto& [thread, left_out] : left_out_) left_out.still_there = false;
  const bool all = each_thread([&](pid_t thread) {
    const auto known = numbers_.find(thread);
    if (known != numbers_.end()) {
      (*targets_)[known->second].still_there = true;
    } else {
      left_out_[thread].still_there = true;  // or it is new
    }
  });
  if (!all) return;
  std::erase_if(left_out_, [](const auto& each) { return !each.second.still_there; });
  std::vector<std::size_t> ended;
  for (const auto& [thread, number] : numbers_) {
    if (!(*targets_)[number].still_there) ended.push_back(number);
  }
  for (const std::size_t number : ended) remove_thread(number);
  if (!python_->found()) return;
  const auto states = python_->states();
  for (const auto& [thread, number] : numbers_) {
    const auto state = states.find(thread);
    (*targets_)[number].python.store(state == states.end() ? 0 : state->second);
  }
}

void CpuSampler::look_at_new_threads() {
  any_new_ = false;
  const auto now = Clock::now();
  for (auto each = left_out_.begin(); each != left_out_.end();) {
    auto& [thread, left_out] = *each;
    if (now >= left_out.next && add_thread(thread, left_out)) {
      each = left_out_.erase(each);
      continue;
    }
    any_new_ |= left_out.pause < threads_every;
    ++each;
  }
}

// A thread that waits for the signal itself, with sigwait say, must not get ours. So it is looked
// at before its timer expires, unless the timer has just expired and the handler ran: a thread that
// uses much of a processor in between is seen too late.
void CpuSampler::look_at_sampled_threads() {
  std::vector<std::pair<pid_t, std::size_t>> blocked;
  for (const auto& [thread, number] : numbers_) {
    Target& target = (*targets_)[number];
    const auto ran = processor_time(thread);
    if (!ran) continue;
    const std::uint32_t taken = target.taken.load();
    if (target.waits_for_signal.load()) {
      blocked.emplace_back(thread, number);
    } else if (std::exchange(target.seen_taken, taken) != taken) {
      target.certain = *ran;
    } else if (*ran - target.certain >= interval_ / 2) {
      const auto masks = masks_of(thread);
      if (masks && masks->blocks(sampling_signal)) blocked.emplace_back(thread, number);
      if (masks && masks->is_own) target.certain = *ran;
    }
  }
  for (const auto& [thread, number] : blocked) {
    remove_thread(number);
    // Whatever it does now, it is a thread that blocks the signal.
    LeftOut& left_out = left_out_[thread];
    left_out.blocks = true;
    left_out.seen.add({.changed = true}, sampling_signal, {});
  }
}

void CpuSampler::find_python() {
  if (python_->found()) return;
  const std::lock_guard lock(host_.loader);
  const std::string why = python_->find();
  if (!why.empty()) say_once("CPU samples have no functions of Python: " + why);
}

// --- samples

void CpuSampler::take_copies() {
  if (copies_made_.load() == 0) return;
  {
    const std::lock_guard lock(host_.loader);
    if (modules_.look()) {
      unwinder_->forget();
      stacks_->forget();
    }
  }
  for (Copy& copy : *copies_) {
    if (copy.state.load(std::memory_order_acquire) != Copy::made) continue;
    unsent_ < most_unsent ? add(copy) : void(lost_.fetch_add(1));
    copy.state.store(Copy::free, std::memory_order_release);
    copies_made_.fetch_sub(1);
  }
}

void CpuSampler::add(const Copy& copy) {
  const CodeModule* const python = copy.python.count > 0 ? modules_.at(python_->code()) : nullptr;
  unwinder_->unwind(
      copy.registers,
      {copy.registers.values[Registers::stack], std::span(copy.stack).first(copy.stack_bytes)},
      python ? python->begin : 0, python ? python->end : 0, addresses_);
  const auto numbers = stacks_->numbers_of(addresses_, copy.python, *sender_);
  const auto cpu_time = static_cast<std::uint64_t>(interval_.count()) * copy.expired;
  auto& row = rows_[copy.thread];
  if (row.samples == 0 || row.frame != numbers.frame || row.stack != numbers.callers ||
      copy.time < row.stop) {
    end_row(row);
    row = {.time = copy.time,
           .stop = copy.time,
           .thread = static_cast<std::uint32_t>(copy.thread),
           .frame = numbers.frame,
           .stack = numbers.callers,
           .samples = 0,
           .cpu_time = 0};
  }
  row.stop = copy.time;
  row.samples += copy.expired;
  row.cpu_time += cpu_time;
}

void CpuSampler::end_row(schema::CpuSample::Row& row) {
  if (row.samples == 0) return;
  sender_->add<schema::CpuSample>(row);
  row.samples = 0;
  ++unsent_;
}

void CpuSampler::send() {
  if (host_.channel.stalled()) return;
  for (auto& [thread, row] : rows_) end_row(row);
  rows_.clear();
  for (const auto& payload : sender_->take()) {
    const auto sent = host_.channel.send(wire::FrameType::batch, payload);
    if (sent == Channel::Sent::refused) lost_.fetch_add(unsent_);
  }
  unsent_ = 0;
}

}  // namespace gpuprof::collect
