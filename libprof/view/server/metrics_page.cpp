#include "libprof/view/server/metrics_page.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::view {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int share_of_readings = 50;
constexpr seconds least_between{1};
constexpr seconds interest{300};  // after the last request
constexpr milliseconds wait_step{100};
constexpr std::string_view text_type = "text/plain";

}  // namespace

MetricsPages::MetricsPages(std::string file, Begin begin, std::vector<Page> pages)
    : file_(std::move(file)),
      begin_(std::move(begin)),
      pages_(std::move(pages)),
      answers_(pages_.size()) {
  // It will be asked for soon.
  answers_.front().asked = Clock::now();
  answers_.front().waited_for = true;
  thread_ = std::thread([this] { run(); });
}

MetricsPages::~MetricsPages() {
  stops_.store(true);
  changed_.notify_all();
  thread_.join();
}

MetricsPages::FileState MetricsPages::state_of(const std::string& file) {
  FileState state{};
  std::size_t at = 0;
  for (const char* suffix : {"", "-wal"}) {
    struct stat facts {};
    if (stat((file + suffix).c_str(), &facts) != 0) facts = {};
    for (const auto value :
         {std::int64_t{facts.st_size}, std::int64_t{facts.st_mtim.tv_sec},
          std::int64_t{facts.st_mtim.tv_nsec}, static_cast<std::int64_t>(facts.st_ino)}) {
      state[at++] = value;
    }
  }
  return state;
}

// All that are asked for, or none.
std::vector<std::size_t> MetricsPages::to_read(const FileState& state, Clock::time_point now) {
  std::vector<std::size_t> pages;
  bool any = false;
  for (std::size_t page = 0; page < answers_.size(); ++page) {
    Answer& answer = answers_[page];
    if (now - answer.asked >= interest) continue;
    pages.push_back(page);
    const bool is_new = answer.is_read && answer.state == state;
    if (is_new && std::exchange(answer.waited_for, false)) changed_.notify_all();
    any |= !is_new && (answer.waited_for || now >= next_);
  }
  if (!any) pages.clear();
  return pages;
}

void MetricsPages::run() {
  const auto is_waited_for = [this] {
    return std::ranges::any_of(answers_, [](const Answer& each) { return each.waited_for; });
  };
  while (!stops_.load()) {
    const auto began = Clock::now();
    const FileState state = state_of(file_);
    std::unique_lock lock(mutex_);
    const std::vector<std::size_t> pages = to_read(state, began);
    if (!pages.empty()) {
      lock.unlock();
      read_file(pages, state);
      lock.lock();
      const auto took = Clock::now() - began;
      next_ = Clock::now() + std::max<Clock::duration>(least_between, share_of_readings * took);
    }
    changed_.wait_for(lock, wait_step, [&] { return stops_.load() || is_waited_for(); });
  }
}

void MetricsPages::read_file(const std::vector<std::size_t>& pages, const FileState& state) {
  std::vector<std::string> texts(pages.size());
  std::string error;
  try {
    reading::ProfileFile file(file_);
    file.read([&](store::Database& database) {
      database.watch([this] { return stops_.load(); });
      begin_(database);
      for (std::size_t i = 0; i < pages.size(); ++i) {
        texts[i] = pages_[pages[i]].read(database, [&] { database.check_watch(); });
      }
    });
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    Answer& answer = answers_[pages[i]];
    answer.text = error.empty() ? std::move(texts[i]) : std::string();
    answer.error = error;
    answer.is_read = true;
    answer.waited_for = false;
    answer.state = state;
  }
  changed_.notify_all();
}

Response MetricsPages::now(std::size_t page) const {
  const Answer& answer = answers_[page];
  if (!answer.error.empty()) {
    return {.status = 500, .type = text_type, .body = answer.error + "\n"};
  }
  return {.type = pages_[page].type, .body = answer.text};
}

Response MetricsPages::wait_for_reading(std::size_t page, const std::function<bool()>& is_over) {
  std::unique_lock lock(mutex_);
  while (answers_[page].waited_for && !is_over() && !stops_.load()) {
    changed_.wait_for(lock, wait_step);
  }
  return now(page);
}

Response MetricsPages::operator()(const Request& request) {
  const auto found = std::ranges::find(pages_, std::string_view(request.path), &Page::path);
  if (found == pages_.end()) {
    const auto path = [](const Page& page) { return "/" + std::string(page.path); };
    return {.status = 404,
            .type = text_type,
            .body = "there is " + joined(pages_, " and ", path) + "\n"};
  }
  const auto page = static_cast<std::size_t>(found - pages_.begin());
  const std::lock_guard lock(mutex_);
  Answer& answer = answers_[page];
  const auto now_asked = Clock::now();
  const bool is_old = now_asked - std::exchange(answer.asked, now_asked) >= interest;
  if (!answer.is_read || (is_old && now_asked >= next_)) answer.waited_for = true;
  if (!answer.waited_for) return now(page);
  changed_.notify_all();
  Response response;
  response.later = [this, page](const std::function<bool()>& is_over) {
    return wait_for_reading(page, is_over);
  };
  return response;
}

}  // namespace gpuprof::view
