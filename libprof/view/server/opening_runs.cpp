#include "libprof/view/server/opening_runs.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"

namespace gpuprof::view {
namespace {

constexpr std::int64_t work_version = 1, whole_version = 2;

// After "api/".
std::string_view question_of(const Request& request) {
  return std::string_view(request.path).substr(4);
}

bool is_about_picture(std::string_view question) {
  constexpr std::array<std::string_view, 5> pictures{"run", "stops", "tiles", "names", "gaps"};
  return std::ranges::find(pictures, question) != pictures.end();
}

}  // namespace

OpeningRuns::OpeningRuns(std::vector<std::string> paths, OpenRun::Options options)
    : paths_(std::move(paths)), options_(std::move(options)) {
  options_.use = std::make_shared<FileUse>();
  options_.interrupted = [this, before = std::move(options_.interrupted)] {
    return stops_.load() || (before && before());
  };
  options_.show = [this, before = std::move(options_.show)](std::string_view what) {
    std::unique_lock lock(mutex_);
    what_ = what;
    if (!quiet_ && before) before(what);
    while (!stops_.load() && Clock::now() < resume_) changed_.wait_until(lock, resume_);
  };
  if (paths_.size() == 1) {
    options_.show_work = [this](std::unique_ptr<const Run> work) { show_work(std::move(work)); };
  }
  thread_ = std::thread([this] { read(); });
}

OpeningRuns::~OpeningRuns() {
  stops_.store(true);
  changed_.notify_all();
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

void OpeningRuns::show_work(std::unique_ptr<const Run> work) {
  const std::lock_guard lock(mutex_);
  work_ = std::move(work);
  work_answers_ = std::make_unique<const Answers>(std::vector<const Run*>{work_.get()},
                                                  Growth{.version = work_version, .is_part = true});
  changed_.notify_all();
}

// While a page draws, reading leaves the cores to it: it asks for the run, and when it has drawn,
// for names.
Response OpeningRuns::answer_from_work(const Answers& answers, const Request& request) {
  constexpr std::chrono::milliseconds most{300};
  const std::string_view what = question_of(request);
  if (what == "run" || what == "names") {
    const std::lock_guard lock(mutex_);
    resume_ = what == "run" ? Clock::now() + most : Clock::time_point();
    changed_.notify_all();
  }
  return answers(request);
}

// A page that began with them goes on with them until it asks for the run again.
const Answers* OpeningRuns::work_answers(const Request& request) const {
  const bool answers = !is_read_ || request.number("version") == work_version;
  return answers && is_about_picture(question_of(request)) ? work_answers_.get() : nullptr;
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
  answers_ = std::make_unique<const Answers>(
      std::move(shown), Growth{.version = work_answers_ ? whole_version : work_version});
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
  if (!request.path.starts_with("api/")) return Answers(std::vector<const Run*>())(request);
  bool is_read = false;
  std::string what;
  const Answers* from_work = nullptr;
  {
    const std::lock_guard lock(mutex_);
    is_read = is_read_;
    what = what_;
    from_work = work_answers(request);
  }
  if (from_work) return answer_from_work(*from_work, request);
  if (is_read) return answer(request);
  if (request.path == "api/reading") return {.body = json_text({{"reading", what}})};
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
  const Answers* from_work = nullptr;
  {
    std::unique_lock lock(mutex_);
    while (!is_read_ && !work_answers(request) && !is_over()) {
      changed_.wait_for(lock, between_polls);
    }
    from_work = work_answers(request);
    if (!is_read_ && !from_work) {
      return {.status = 500, .body = error_answer("nobody waits for this")};
    }
  }
  if (from_work) return answer_from_work(*from_work, request);
  Response response = answer(request);
  return response.later ? response.later(is_over) : response;
}

}  // namespace gpuprof::view
