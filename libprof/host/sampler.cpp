#include "libprof/host/sampler.hpp"

#include <pthread.h>

#include <algorithm>
#include <chrono>

#include "libprof/base/clock.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::host {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t most_threads = 256;  // that are looked at
constexpr std::size_t most_processes = 64;
constexpr milliseconds children_every{100}, rows_every{1000};
constexpr int rests = 19;  // times what a turn took

}  // namespace

Sampler::Sampler(Options options) : options_(std::move(options)), thread_([this] { run(); }) {}

Sampler::~Sampler() { stop(); }

void Sampler::add(std::uint32_t stream, pid_t process) {
  const std::lock_guard lock(mutex_);
  new_.emplace_back(stream, process);
  changed_.notify_one();
}

void Sampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

bool Sampler::wait(nanoseconds time) {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [this] { return stopping_; });
}

void Sampler::run() {
  pthread_setname_np(pthread_self(), "host samples");
  Clock::time_point next_children = Clock::now(), next_rows = Clock::now() + rows_every;
  const auto interval = options_.interval.count();
  std::uniform_int_distribution<std::int64_t> pause(interval / 2, interval + interval / 2);
  nanoseconds time(0);
  while (wait(time)) {
    const std::int64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    try {
      take_new();
      if (Clock::now() >= next_children) {
        find_children();
        next_children = Clock::now() + children_every;
      }
      turn();
      if (Clock::now() >= next_rows) {
        flush();
        next_rows = Clock::now() + rows_every;
      }
    } catch (const std::exception&) {
      // No memory, as a rule. That may pass.
    }
    const std::int64_t took = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
    time = nanoseconds(std::max(pause(random_), rests * took));
  }
  flush();
}

void Sampler::take_new() {
  std::vector<std::pair<std::uint32_t, pid_t>> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(new_);
  }
  for (const auto& [stream, process] : fresh) {
    // It is no longer one of those that use no CUDA.
    for (const auto& family : families_) {
      std::erase_if(family->processes, [&](const auto& each) {
        if (each->id() != process) return false;
        each->flush();
        return true;
      });
    }
    families_.push_back(std::make_unique<Family>(stream));
    add_process(*families_.back(), process);
  }
}

void Sampler::add_process(Family& family, pid_t process) {
  try {
    family.processes.push_back(
        std::make_unique<ProcessSamples>(process, family.rows, family.stacks));
  } catch (const Error&) {
    // It has ended.
  }
}

bool Sampler::is_known(pid_t process) const {
  return std::ranges::any_of(families_, [&](const auto& family) {
    return std::ranges::any_of(family->processes,
                               [&](const auto& each) { return each->id() == process; });
  });
}

void Sampler::find_children() {
  for (const auto& family : families_) find_children(*family);
}

// Those that start processes themselves are among `processes` when their turn comes.
void Sampler::find_children(Family& family) {
  for (std::size_t i = 0; i < family.processes.size(); ++i) {
    for (const pid_t child : family.processes[i]->children()) {
      if (family.processes.size() == most_processes) return;
      if (!is_known(child)) add_process(family, child);
    }
  }
}

void Sampler::turn() {
  std::size_t left = most_threads;
  for (const auto& family : families_) {
    std::erase_if(family->processes, [&](const auto& process) {
      if (left > 0) left -= process->look(left);
      const std::string message = process->take_message();
      // Of a process that uses no CUDA nobody expects anything.
      if (!message.empty() && process == family->processes.front()) {
        options_.say(process->id(), "no host samples: " + message);
      }
      if (process->alive()) return false;
      process->flush();
      return true;
    });
  }
}

void Sampler::flush() {
  for (const auto& family : families_) {
    for (const auto& process : family->processes) process->flush();
    for (wire::Frame& frame : family->rows.take(family->stream)) options_.push(std::move(frame));
  }
}

}  // namespace gpuprof::host
