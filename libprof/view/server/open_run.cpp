#include "libprof/view/server/open_run.hpp"

#include <algorithm>
#include <filesystem>

#include "libprof/base/error.hpp"
#include "libprof/read/record_count.hpp"
#include "libprof/view/server/question_process.hpp"

namespace gpuprof::view {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds least_between_readings{1000};
// Reading takes at most this fraction (1/5) of the time.
constexpr int share_of_reading = 5;
// How long details wait for other readers of the file; briefly on the server's thread.
constexpr std::chrono::seconds patience{1}, long_patience{60};
// Opening a file takes ten times as long as reading one record's details. A connection has a work
// limit, far above that of this many details.
constexpr int details_by_one_connection = 100;

}  // namespace

OpenRun::OpenRun(const std::string& given, Options options)
    : use_(options.use ? options.use : std::make_shared<FileUse>()) {
  const std::lock_guard lock(use_->open);
  auto file = std::make_unique<reading::ProfileFile>(given);
  if (file->problem()) throw Error(*file->problem());
  if (!options.show) options.show = [](std::string_view) {};
  path = given;
  title = std::filesystem::path(path).filename();
  std::string empty;
  file->read(
      [&](store::Database& database) {
        read(database, *file, options);
        empty = why_empty(database, model);
      },
      options.show);
  notes = file->notes();
  grows_ = file->in_use() && file->unfinished() && !file->damaged();
  keeps_open_ = !file->unfinished();
  may_begin_ = !grows_ && file->unfinished() && !file->damaged() && model.records == 0;
  if (!empty.empty() && !grows_) notes.push_back("nothing can be drawn: " + empty);
  ask = [this](std::string_view sql, const std::function<bool()>& is_over) {
    const std::uint64_t number = ++use_->wanted;
    return ask_in_process(
        {.path = path, .copy = damaged_ ? damaged_->database().path() : std::string()}, model.zero,
        sql, [&] { return is_over() || use_->wanted != number; });
  };
  answer = [this](const Reader& question, const Request& request,
                  const std::function<bool()>& is_over) {
    std::string text;
    read_again(is_over, [&](store::Database& database, const std::function<bool()>& ends) {
      database.watch(ends);
      text = question({database, model, request.query, [&] { database.check_watch(); }});
    });
    return text;
  };
  if (file->damaged()) {
    damaged_ = std::move(file);
  }
  find_details = [this](const Place& place, const Item& item) {
    ++use_->wanted;
    const std::unique_lock held(use_->open, model.blocks ? patience : long_patience);
    if (!held) throw Error("the file is being read for something else: ask again");
    if (damaged_) return details(damaged_->database(), model, place, item);
    if (!kept_ || ++asked_of_kept_ > details_by_one_connection) {
      kept_ = std::make_unique<reading::ProfileFile>(path);
      asked_of_kept_ = 1;
    }
    Details found;
    try {
      kept_->read(
          [&](store::Database& database) { found = details(database, model, place, item); });
    } catch (...) {
      kept_.reset();
      throw;
    }
    // A file with a write-ahead log may still be written to, and cannot be finished while it is
    // open here.
    std::error_code ignored;
    const bool has_log = std::filesystem::exists(path + "-shm", ignored);
    if (!keeps_open_ || has_log || kept_->damaged()) kept_.reset();
    return found;
  };
}

void OpenRun::read_again(const std::function<bool()>& is_over, const FileReader& read) const {
  const std::uint64_t number = ++use_->wanted;
  const std::lock_guard held(use_->open);
  const std::function<bool()> ends = [&] { return is_over() || use_->wanted != number; };
  if (damaged_) {
    store::Database copy = damaged_->database().reader();
    read(copy, ends);
  } else {
    reading::ProfileFile(path).read([&](store::Database& database) { read(database, ends); });
  }
}

void OpenRun::read(store::Database& database, const reading::ProfileFile& file,
                   const Options& options) {
  if (options.interrupted) database.watch(options.interrupted);
  const auto check = [&](std::string_view what) {
    options.show(what);
    database.check_watch();
  };
  std::optional<std::int64_t> stored;
  const auto complete = [&](Run& run, int most_gaps) {
    if (!stored) stored = reading::count_records(database, file.numbers_records());
    run.model.stored = *stored;
    if (options.zero) run.model.zero = *options.zero;
    run.stops = find_stops(database, run.model, window_of(run.model), most_gaps);
  };
  std::function<void(Model)> show_work;
  if (options.show_work) {
    show_work = [&](Model work) {
      if (work.records < options.much_work) return;
      auto run = std::make_unique<Run>();
      run->title = title;
      run->path = path;
      run->model = std::move(work);
      complete(*run, most_stops);
      options.show_work(std::move(run));
    };
  }
  model = read_model(database, check, options.names, show_work);
  complete(*this, most_read_gaps);
}

LiveRun::LiveRun(std::string path, OpenRun::Options options)
    : path_(std::move(path)), options_(std::move(options)) {
  options_.use = std::make_shared<FileUse>();
  shown_ = std::make_shared<const Shown>(path_, options_);
  // Between a file's creation and its first transaction nothing shows that it is being recorded.
  for (int tries = 0; tries < 20 && shown_->run.may_begin(); ++tries) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    shown_ = std::make_shared<const Shown>(path_, options_);
  }
  notes_ = shown_->run.notes;
  options_.show = {};
  options_.interrupted = [this, before = options_.interrupted] {
    return stops_.load() || (before && before());
  };
  if (shown_->run.grows()) thread_ = std::thread([this] { follow(); });
}

LiveRun::~LiveRun() {
  stops_.store(true);
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const LiveRun::Shown> LiveRun::shown() {
  const std::lock_guard lock(mutex_);
  return shown_;
}

// Returns false if reading is to stop.
bool LiveRun::wait(std::chrono::milliseconds time) {
  const auto until = SteadyClock::now() + time;
  while (!options_.interrupted() && SteadyClock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return !options_.interrupted();
}

void LiveRun::follow() {
  auto pause = least_between_readings;
  while (wait(pause)) {
    const auto before = shown();
    const auto began = SteadyClock::now();
    try {
      auto options = options_;
      options.names = before->run.model.names;
      // A later reading may have an earlier record; keep the zero.
      if (before->run.model.records > 0) options.zero = before->run.model.zero;
      auto read = std::make_shared<Shown>(path_, std::move(options));
      read->version = before->version + 1;
      const bool grows = read->run.grows();
      const std::lock_guard lock(mutex_);
      shown_ = std::move(read);
      if (!grows) return;
    } catch (const Error&) {
      // Keep the previous reading. The next one may succeed: the file's end may just be being
      // written.
    }
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(SteadyClock::now() - began);
    pause = std::max(least_between_readings, share_of_reading * took);
  }
}

Response LiveRun::operator()(const Request& request) {
  const auto current = shown();
  Response response = Answers(
      {&current->run}, {.version = current->version, .grows = current->run.grows()})(request);
  if (response.later) {
    response.later = [current, later = std::move(response.later)](
                         const std::function<bool()>& is_over) { return later(is_over); };
  }
  return response;
}

}  // namespace gpuprof::view
