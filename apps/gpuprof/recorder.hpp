// Where the frames of a run go: into one database, or one per process, and into a capture besides.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"

namespace gpuprof::app {

class Recorder {
 public:
  struct Options {
    std::string output;  // may hold %p
    bool overwrite = false;
    store::LoaderOptions loader;
    std::string capture;  // empty: none
    // Something that went wrong and does not end the recording. On the thread that calls take(),
    // commit() or finish(). May be empty.
    std::function<void(const std::string& text)> say = {};
  };

  // Checks the output file, and makes it unless there is one per process. Throws gpuprof::Error.
  explicit Recorder(Options options);

  // A capture that cannot be written any further ends there, and the databases go on. So do the
  // others when somebody removes one of several. Both are told, and failed() is true from then on.
  // Whatever else fails throws gpuprof::Error.
  void take(wire::Frame frame);
  void commit();
  void finish();
  void count(schema::StatisticName statistic, std::uint64_t value);

  store::LoadTotals totals() const;
  // After finish(): some file is open elsewhere and still has its log beside it.
  bool still_open() const;
  // Something that was to be written is not there, or not to its end.
  bool failed() const { return !capture_damage_.empty() || file_lost_; }
  // Why the capture ends early; empty: it does not.
  const std::string& capture_damage() const { return capture_damage_; }
  // The files there are, in the order they were made.
  std::vector<std::string> files() const;
  // What wrote them, for reports.
  std::vector<store::Loader*> loaders();

 private:
  // A file as it was when it was made: another one under its name is not ours.
  struct File {
    explicit File(std::string path_of_it);
    bool there() const;
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  struct Profile {
    File file;
    std::array<File, 2> logs;  // SQLite's, beside it
  };

  std::unique_ptr<store::Loader> make_loader(long process_id);
  void end_capture(const Error& error);
  void look_for_files();

  Options options_;
  bool per_process_;
  std::unique_ptr<wire::CaptureWriter> capture_;
  std::string capture_damage_;
  std::vector<wire::Frame> run_frames_;                              // every file has them
  std::map<std::uint32_t, std::unique_ptr<store::Loader>> loaders_;  // by stream
  std::set<std::uint32_t> given_up_;  // streams whose file was removed: what comes is thrown away
  std::unique_ptr<store::Loader> single_;
  std::vector<Profile> profiles_;
  bool file_lost_ = false;
};

}  // namespace gpuprof::app
