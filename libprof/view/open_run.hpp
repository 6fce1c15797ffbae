// A file as a run to be shown, and one that is being recorded as it grows.
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
#include "libprof/view/server.hpp"

namespace gpuprof::view {

// Who asks a file: one at a time has it open in this process, for closing it anywhere gives up the
// locks of all.
struct FileUse {
  std::timed_mutex open;  // held while it is
  std::atomic<std::uint64_t> wanted =
      0;  // how often; who asks on a thread ends when it is wanted again
};

// The file is closed once it has been read, because a recording cannot end while another process
// has its file open. Details open it again; a finished file stays open for the next ones. What
// could be read of a damaged file is in a copy that lives as long as this. Questions in SQL are
// answered by other processes.
class OpenRun : public Run {
 public:
  struct Options {
    std::vector<Name> names{};            // of another run, which has them under the same numbers
    std::optional<std::int64_t> zero{};   // what its times count from, in place of its own
    std::shared_ptr<FileUse> use{};       // with other runs; null: with none
    std::function<bool()> interrupted{};  // asked while it is read; may be empty
    std::function<void(std::string_view)> show{};  // told what is read; may be empty
  };
  // Throws Error, and DatabaseError where it was interrupted.
  OpenRun(const std::string& path, Options options);

  // Somebody still writes to the file.
  bool grows() const { return grows_; }
  // There is nothing in it, and it was not finished: a recording may have just begun.
  bool may_begin() const { return may_begin_; }

 private:
  void read(store::Database& database, const Options& options);
  // On any thread, by a connection of its own, until `ends`.
  using Reader = std::function<void(store::Database&, const std::function<bool()>& ends)>;
  void read_again(const std::function<bool()>& is_over, const Reader& read) const;

  const std::string path_;
  const std::shared_ptr<FileUse> use_;
  std::unique_ptr<reading::ProfileFile> damaged_;
  std::unique_ptr<reading::ProfileFile> kept_;  // for details; under use_->open
  int asked_of_kept_ = 0;
  bool keeps_open_ = false;
  bool grows_ = false;
  bool may_begin_ = false;
};

// Reads a file that is being recorded anew from time to time, on a thread of its own, until the
// recording is over.
class LiveRun {
 public:
  // The first time on the calling thread; throws as OpenRun.
  explicit LiveRun(std::string path, OpenRun::Options options);
  ~LiveRun();
  LiveRun(const LiveRun&) = delete;
  LiveRun& operator=(const LiveRun&) = delete;

  // Answers out of what was read last. One thread.
  Response operator()(const Request& request);
  // Of what was read first.
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
  std::shared_ptr<const Shown> shown_;  // under mutex_
  std::thread thread_;
};

}  // namespace gpuprof::view
