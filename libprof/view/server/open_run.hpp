// Opens a file as a run to show, and follows one that is being recorded.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "libprof/read/profile_file.hpp"
#include "libprof/view/server/server.hpp"

namespace gpuprof::view {

// Serializes uses of a file, so that reading it in the background gives way to a request.
struct FileUse {
  std::timed_mutex open;  // held while the file is open
  std::atomic<std::uint64_t> wanted =
      0;  // how often; a background user ends when the file is wanted again
};

// The file is closed after reading, because a recording cannot finish while another process has its
// file open. Details reopen it; a finished file then stays open for the next ones. The readable
// parts of a damaged file are in a copy that lives as long as this object. SQL queries are answered
// by other processes.
class OpenRun : public Run {
 public:
  struct Options {
    std::vector<Name> names{};                     // of another run, which keep their numbers
    std::optional<std::int64_t> zero{};            // the origin of its times, instead of its own
    std::shared_ptr<FileUse> use{};                // shared with other runs; null: not shared
    std::function<bool()> interrupted{};           // polled while reading; may be empty
    std::function<void(std::string_view)> show{};  // called with what is being read; may be empty
    // Called with a run of the GPU work alone, once that has been read, if it has this many
    // records; may be empty. It answers nothing that reads the file.
    std::function<void(std::unique_ptr<const Run>)> show_work{};
    std::int64_t much_work = 1'000'000;
  };
  // Throws Error, or DatabaseError if interrupted.
  OpenRun(const std::string& given, Options options);

  // Whether the file is still being written.
  bool grows() const { return grows_; }
  // Whether the file is empty and unfinished: a recording may have just begun.
  bool may_begin() const { return may_begin_; }

 private:
  void read(store::Database& database, const reading::ProfileFile& file, const Options& options);
  // Reads on any thread, on its own connection, until `ends` returns true.
  using FileReader = std::function<void(store::Database&, const std::function<bool()>& ends)>;
  void read_again(const std::function<bool()>& is_over, const FileReader& read) const;

  const std::shared_ptr<FileUse> use_;
  std::unique_ptr<reading::ProfileFile> damaged_;
  std::unique_ptr<reading::ProfileFile> kept_;  // for details; guarded by use_->open
  int asked_of_kept_ = 0;
  bool keeps_open_ = false;
  bool grows_ = false;
  bool may_begin_ = false;
};

// Rereads a file that is being recorded from time to time, on its own thread, until the recording
// is over.
class LiveRun {
 public:
  // The first reading is on the calling thread and throws like OpenRun.
  explicit LiveRun(std::string path, OpenRun::Options options);
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // Answers from the latest reading. Not thread-safe.
  Response operator()(const Request& request);
  // From the first reading.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Shown {
    Shown(const std::string& path, OpenRun::Options options) : run(path, std::move(options)) {}
    OpenRun run;
    std::int64_t version = 1;
  };

  void follow();
  bool wait(std::chrono::milliseconds time);
  std::shared_ptr<const Shown> shown();

  const std::string path_;
  OpenRun::Options options_;
  std::vector<std::string> notes_;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;
  std::shared_ptr<const Shown> shown_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace gpuprof::view
