#include "libprof/record/loading_thread.hpp"

#include <chrono>
#include <exception>
#include <new>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/wire/stream_error.hpp"

namespace gpuprof::record {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds commit_interval{250};

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

void LoadingThread::run() {
  auto last_commit = steady_clock::now();
  while (!queue_.exhausted()) {
    if (ends_.overdue()) queue_.abandon();
    wire::Frame frame;
    const bool got = queue_.pop(frame, commit_interval);
    if (failed_) continue;
    try {
      if (got) take(std::move(frame));
      if (steady_clock::now() - last_commit >= commit_interval) {
        recorder_.commit();
        last_commit = steady_clock::now();
      }
    } catch (const std::exception& error) {
      fail(error);
    }
  }
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
