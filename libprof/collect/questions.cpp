#include "libprof/collect/questions.hpp"

#include <algorithm>
#include <utility>

namespace gpuprof::collect {
namespace {

// An answer takes some 100 us; one that kills the launcher's demangler takes half a second of CPU
// time. Only the first wait that is in vain takes all of this.
constexpr std::chrono::milliseconds patience{3000};
// A program may create a new message for each range. Beyond this size, all cached answers are
// forgotten.
constexpr std::size_t most_key_bytes = 8 << 20;
// The launcher does not answer questions about longer names.
constexpr std::size_t longest_question = 64 << 10;

int in_ms(std::chrono::steady_clock::duration time) {
  return static_cast<int>(
      std::max<std::int64_t>(std::chrono::ceil<std::chrono::milliseconds>(time).count(), 0));
}

}  // namespace

Questions::Answer Questions::kernel(std::string_view symbol) {
  wire::Fields question;
  question.set("kernel", symbol);
  return ask("k" + std::string(symbol), std::move(question));
}

Questions::Answer Questions::range(std::string_view message) {
  wire::Fields question;
  question.set("range", message);
  return ask("r" + std::string(message), std::move(question));
}

Questions::Answer Questions::numbers(std::uint32_t scope, std::string_view what,
                                     std::uint32_t block) {
  wire::Fields question;
  question.set("numbers", what);
  question.set("scope", std::int64_t{scope});
  question.set("block", std::int64_t{block});
  return ask("n" + std::to_string(scope) + std::string(what) + std::to_string(block),
             std::move(question));
}

Questions::Answer Questions::ask(std::string key, wire::Fields question) {
  if (key.size() > longest_question) return nullptr;
  std::unique_lock lock(mutex_);
  const auto known = answers_.find(key);
  if (known != answers_.end()) {
    if (known->second || slow_) return known->second;
  } else {
    key_bytes_ += key.size();
    if (key_bytes_ > most_key_bytes) {
      answers_.clear();
      asked_.clear();
      key_bytes_ = key.size();
    }
    answers_.emplace(key, nullptr);
    const std::uint64_t number = ++last_number_;
    asked_.emplace(number, key);
    lock.unlock();
    question.set("number", static_cast<std::int64_t>(number));
    wire::Encoder encoder;
    encoder.fields(question);
    const bool sent = channel_.send(wire::FrameType::question, encoder) == Channel::Sent::whole;
    lock.lock();
    if (!sent || slow_) return nullptr;
  }
  const auto until = Clock::now() + patience;
  while (true) {
    const auto found = answers_.find(key);
    if (found == answers_.end()) return nullptr;
    if (found->second) return found->second;
    if (Clock::now() >= until || !channel_.alive()) break;
    wait(lock, until);
  }
  slow_ = true;
  return nullptr;
}

bool Questions::receive(wire::Frame& frame, int timeout_ms) {
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::unique_lock lock(mutex_);
  while (others_.empty()) {
    if (Clock::now() >= until || !channel_.alive()) return false;
    wait(lock, until);
  }
  frame = std::move(others_.front());
  others_.pop_front();
  return true;
}

void Questions::wait(std::unique_lock<std::mutex>& lock, Clock::time_point until) {
  if (reading_) {
    changed_.wait_until(lock, until);
    return;
  }
  reading_ = true;
  lock.unlock();
  wire::Frame frame;
  const bool got = channel_.receive(frame, in_ms(until - Clock::now()));
  lock.lock();
  reading_ = false;
  if (got) take(std::move(frame));
  changed_.notify_all();
}

void Questions::take(wire::Frame frame) {
  if (frame.type != wire::FrameType::config) return;
  wire::Fields fields = wire::Decoder(frame.payload()).fields();
  if (!fields.find("answer")) {
    others_.push_back(std::move(frame));
    return;
  }
  slow_ = false;
  const auto asked = asked_.find(static_cast<std::uint64_t>(fields.integer("answer")));
  if (asked == asked_.end()) return;
  const auto place = answers_.find(asked->second);
  if (place != answers_.end()) {
    place->second = std::make_shared<const wire::Fields>(std::move(fields));
  }
  asked_.erase(asked);
}

}  // namespace gpuprof::collect
