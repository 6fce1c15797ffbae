#include "libprof/view/server/opening_runs.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"

namespace gpuprof::view {

OpeningRuns::OpeningRuns(std::vector<std::string> paths, OpenRun::Options options)
    : paths_(std::move(paths)), options_(std::move(options)) {
  options_.use = std::make_shared<FileUse>();
  options_.interrupted = [this, before = std::move(options_.interrupted)] {
    return stops_.load() || (before && before());
  };
  options_.show = [this, before = std::move(options_.show)](std::string_view what) {
    const std::lock_guard lock(mutex_);
    what_ = what;
    if (!quiet_ && before) before(what);
  };
  thread_ = std::thread([this] { read(); });
}

OpeningRuns::~OpeningRuns() {
  stops_.store(true);
  thread_.join();
}

void OpeningRuns::read() {
  std::exception_ptr error;
  try {
    read_all();
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  error_ = error;
  is_read_ = true;
  changed_.notify_all();
}

void OpeningRuns::read_all() {
  for (const std::string& path : paths_) {
    if (!runs_.empty()) options_.names = runs_.back().model.names;
    runs_.emplace_back(path, options_);
  }
  if (runs_.size() == 2 && runs_[0].title == runs_[1].title) {
    runs_[0].title = paths_[0];
    runs_[1].title = paths_[1];
  }
  std::vector<const Run*> shown;
  std::vector<std::string> notes;
  for (const OpenRun& run : runs_) {
    notes.insert(notes.end(), run.notes.begin(), run.notes.end());
    shown.push_back(&run);
  }
  const std::lock_guard lock(mutex_);
  notes_ = std::move(notes);
  answers_ = std::make_unique<const Answers>(std::move(shown));
}

void OpeningRuns::wait(std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, most, [this] { return is_read_; });
  quiet_ = true;
  if (error_) std::rethrow_exception(error_);
}

bool OpeningRuns::failed() {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

std::vector<std::string> OpeningRuns::take_notes() {
  const std::lock_guard lock(mutex_);
  return std::exchange(notes_, {});
}

Response OpeningRuns::operator()(const Request& request) {
  bool is_read = false;
  std::string what;
  {
    const std::lock_guard lock(mutex_);
    is_read = is_read_;
    what = what_;
  }
  if (is_read) return answer(request);
  if (request.path == "api/reading") return {.body = json_text({{"reading", what}})};
  if (!request.path.starts_with("api/")) return Answers(std::vector<const Run*>())(request);
  return {.later = [this, request](const std::function<bool()>& is_over) {
    return wait_and_answer(request, is_over);
  }};
}

Response OpeningRuns::answer(const Request& request) {
  if (failed()) return {.status = 500, .body = error_answer("the file could not be read")};
  const std::lock_guard lock(answering_);
  return (*answers_)(request);
}

Response OpeningRuns::wait_and_answer(const Request& request,
                                      const std::function<bool()>& is_over) {
  constexpr std::chrono::milliseconds between_polls{50};
  {
    std::unique_lock lock(mutex_);
    while (!is_read_ && !is_over()) changed_.wait_for(lock, between_polls);
    if (!is_read_) return {.status = 500, .body = error_answer("nobody waits for this")};
  }
  Response response = answer(request);
  return response.later ? response.later(is_over) : response;
}

}  // namespace gpuprof::view
