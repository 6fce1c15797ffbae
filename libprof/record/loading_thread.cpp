#include "libprof/record/loading_thread.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/wire/stream_error.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds commit_interval{250};
constexpr std::size_t enough_bytes = std::size_t{4} << 20;  // more than this does not wait

}  // namespace

std::function<bool(int times)> wait_for_the_lock(Say say, const launch::EndRequests& ends) {
  return [say = std::move(say), &ends](int times) {
    constexpr milliseconds step{20};
    constexpr int tell_after = 5000 / 20;
    if (times == tell_after) {
      say("another process holds the lock of the database; what is recorded waits for it");
    }
    std::this_thread::sleep_for(step);
    return !ends.overdue();
  };
}

LoadingThread::LoadingThread(Recorder& recorder, launch::FrameQueue& queue,
                             const launch::EndRequests& ends, Conversion conversion, Say say)
    : recorder_(recorder),
      queue_(queue),
      ends_(ends),
      conversion_(std::move(conversion)),
      say_(std::move(say)),
      thread_([this] { run(); }) {}

bool LoadingThread::finish() {
  thread_.join();
  return !failed_;
}

// Frames are loaded together, so that others can write to the database meanwhile: a transaction
// begins with its first frame.
void LoadingThread::run() {
  auto began = steady_clock::now();
  while (!queue_.exhausted()) {
    // The first process's file appears at once.
    queue_.gather(recorder_.begun() ? enough_bytes : 1, began + commit_interval);
    began = steady_clock::now();
    try {
      load_for(commit_interval);
      const launch::FrameQueue::Counts counts = queue_.counts();
      if (!failed_) recorder_.commit();
      note_commit(counts.accepted_bytes - counts.waiting_bytes);
    } catch (const std::exception& error) {
      fail(error);
      note_commit(0);
    }
  }
}

// Loads what waits, for about this time.
void LoadingThread::load_for(milliseconds time) {
  const auto end = steady_clock::now() + time;
  do {
    if (ends_.overdue()) queue_.abandon();
    wire::Frame frame;
    if (!queue_.pop(frame)) return;
    if (!failed_) take(std::move(frame));
  } while (steady_clock::now() < end);
}

void LoadingThread::note_commit(std::uint64_t bytes) {
  std::vector<std::string> files;
  if (recorder_.begun()) {
    for (const std::string& name : recorder_.files()) files.push_back(resolved(name));
  }
  const std::lock_guard lock(mutex_);
  committed_ = {std::move(files), recorder_.totals(), bytes, failed_};
  committing_.notify_all();
}

LoadingThread::Committed LoadingThread::committed() {
  const std::lock_guard lock(mutex_);
  return committed_;
}

bool LoadingThread::wait_until_committed(milliseconds patience) {
  const std::uint64_t wanted = queue_.counts().accepted_bytes;
  std::unique_lock lock(mutex_);
  return committing_.wait_for(lock, patience, [&] {
    return committed_.bytes >= wanted || committed_.failed;
  }) && !committed_.failed;
}

// Reported at once rather than when the target has ended, which may be hours later.
void LoadingThread::fail(const std::exception& error) {
  failed_ = true;
  if (ends_.hurried()) return;
  std::string text = error.what() + std::string("; nothing more is recorded, the program runs on");
  if (const auto* ours = dynamic_cast<const Error*>(&error); ours && !ours->hint().empty()) {
    text += "\n  " + ours->hint();
  }
  say_(text);
}

void LoadingThread::take(wire::Frame frame) {
  if (!conversion_.convert) return recorder_.take(std::move(frame));
  const auto stream = conversion_.recorded_stream(frame.stream);
  try {
    for (wire::Frame& result : conversion_.convert(std::move(frame))) {
      recorder_.take(std::move(result));
    }
  } catch (const wire::StreamError& error) {
    if (stream) recorder_.refuse(*stream, error.what());
  } catch (const std::bad_alloc&) {
    if (stream) recorder_.refuse(*stream, "there is not enough memory for what it sends");
  }
}

}  // namespace gpuprof::record
