#include "libprof/store/readable_names.hpp"

#include <condition_variable>
#include <mutex>
#include <string>
#include <utility>

namespace gpuprof::store {

struct ReadableNames::Inbox {
  std::mutex mutex;  // guards all other members
  std::condition_variable complete;
  std::size_t missing = 0;
  std::vector<Answer> answers;
};

ReadableNames::ReadableNames() : inbox_(std::make_shared<Inbox>()) {}
ReadableNames::~ReadableNames() = default;

void ReadableNames::ask(std::int64_t id, std::string_view text) {
  if (!is_mangled(text)) return;
  {
    const std::lock_guard lock(inbox_->mutex);
    ++inbox_->missing;
  }
  Demangler::shared().ask(std::string(text), [id, inbox = inbox_](const Readable& readable) {
    const std::lock_guard lock(inbox->mutex);
    inbox->answers.push_back({id, readable});
    if (--inbox->missing == 0) inbox->complete.notify_all();
  });
}

bool ReadableNames::has_answers() const {
  const std::lock_guard lock(inbox_->mutex);
  return !inbox_->answers.empty();
}

std::vector<ReadableNames::Answer> ReadableNames::take() {
  const std::lock_guard lock(inbox_->mutex);
  return std::exchange(inbox_->answers, {});
}

std::size_t ReadableNames::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(inbox_->mutex);
  inbox_->complete.wait_for(lock, patience, [this] { return inbox_->missing == 0; });
  return inbox_->missing;
}

}  // namespace gpuprof::store
