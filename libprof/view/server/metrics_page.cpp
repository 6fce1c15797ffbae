#include "libprof/view/server/metrics_page.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::view {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int share_of_readings = 50;
constexpr seconds least_between{1};
constexpr seconds interest{300};  // after the last request
constexpr milliseconds wait_step{100};
constexpr std::string_view text_type = "text/plain; version=0.0.4";

// What differs when a file or its log has changed.
std::array<std::int64_t, 8> state_of(const std::string& file) {
  std::array<std::int64_t, 8> state{};
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

}  // namespace

MetricsPage::MetricsPage(std::string file, Read read)
    : file_(std::move(file)), read_(std::move(read)), asked_(Clock::now()) {
  thread_ = std::thread([this] { run(); });
}

MetricsPage::~MetricsPage() {
  stops_.store(true);
  changed_.notify_all();
  thread_.join();
}

void MetricsPage::run() {
  std::array<std::int64_t, 8> known{};
  Clock::time_point next{};
  while (!stops_.load()) {
    const auto began = Clock::now();
    const auto state = state_of(file_);
    std::unique_lock lock(mutex_);
    if (began >= next && began - asked_ < interest && (!is_read_ || state != known)) {
      lock.unlock();
      read_file();
      known = state;
      const auto took = Clock::now() - began;
      next = Clock::now() + std::max<Clock::duration>(least_between, share_of_readings * took);
      lock.lock();
    }
    changed_.wait_for(lock, wait_step, [this] { return stops_.load(); });
  }
}

void MetricsPage::read_file() {
  std::string text, error;
  try {
    reading::ProfileFile file(file_);
    file.read([&](store::Database& database) {
      database.watch([this] { return stops_.load(); });
      text = read_(database, [&] { database.check_watch(); });
    });
  } catch (const std::exception& caught) {
    error = caught.what();
  }
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
  error_ = std::move(error);
  is_read_ = true;
  changed_.notify_all();
}

Response MetricsPage::now() {
  if (!error_.empty()) return {.status = 500, .type = text_type, .body = error_ + "\n"};
  return {.type = text_type, .body = text_};
}

Response MetricsPage::wait_for_first(const std::function<bool()>& is_over) {
  std::unique_lock lock(mutex_);
  while (!is_read_ && !is_over() && !stops_.load()) changed_.wait_for(lock, wait_step);
  return now();
}

Response MetricsPage::operator()(const Request& request) {
  if (request.path != "metrics") {
    return {.status = 404, .type = text_type, .body = "there is /metrics\n"};
  }
  const std::lock_guard lock(mutex_);
  asked_ = Clock::now();
  if (is_read_) return now();
  Response response;
  response.later = [this](const std::function<bool()>& is_over) { return wait_for_first(is_over); };
  return response;
}

}  // namespace gpuprof::view
