// Where the frames of a run go: into one database, or one per process, and into a capture besides.
// What is of the run as a whole, as what samplers tell is, goes into each database.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/record/output_file.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"

namespace gpuprof::record {

// A file has its name, and what had it before is gone, when the first process is there; one that is
// not read while it is written, when it is complete. A run that ends without a process gives it its
// name if nothing has that. Files of one process are
// numbered where they would have the same name.
class Recorder {
 public:
  struct Options {
    std::string output;  // may hold %p
    record::FileRules files;
    store::LoaderOptions loader;
    std::string capture;  // empty: none
    // Something that went wrong and does not end the recording. On the thread that calls take(),
    // commit() or finish(). May be empty.
    std::function<void(const std::string& text)> say = {};
  };

  // Makes the files, without their names yet, unless there is one per process. Throws
  // gpuprof::Error.
  explicit Recorder(Options options);

  // A capture that cannot be written any further ends there, and the databases go on. So do the
  // others when somebody removes one of several. Both are told, and failed() is true from then on.
  // Whatever else fails throws gpuprof::Error.
  void take(wire::Frame frame);
  // Nothing more of this stream is recorded, because of `why`.
  void refuse(std::uint32_t stream, const std::string& why);
  void commit();
  void finish();
  void count(schema::StatisticName statistic, std::uint64_t value);
  // Why there was something to count; for all files there are.
  void explain(schema::StatisticName statistic, const std::string& text);

  store::LoadTotals totals() const;
  // After finish(): some file is open elsewhere and still has its log beside it.
  bool still_open() const;
  // Something that was to be written is not there, or not to its end.
  bool failed() const { return !capture_damage_.empty() || file_lost_; }
  // Why the capture ends early; empty: it does not.
  const std::string& capture_damage() const { return capture_damage_; }
  // The files there are, in the order they were made.
  std::vector<std::string> files() const;
  // After finish(): the profile that stays what it was, as no process came; empty: none.
  const std::string& kept() const { return kept_; }
  // What wrote them, for reports.
  std::vector<store::Loader*> loaders();

 private:
  // A file as it was once: another one under its name is not ours.
  struct File {
    explicit File(std::string path_of_it);
    bool there() const;
    std::string path;
    dev_t device = 0;
    ino_t inode = 0;
  };
  struct Profile {
    explicit Profile(std::unique_ptr<record::OutputFile> made) : file(std::move(made)) {}
    std::unique_ptr<record::OutputFile> file;
    std::unique_ptr<store::Loader> loader;  // null: nothing was to be written yet
    std::vector<File> logs;                 // SQLite's, beside it
  };

  std::unique_ptr<Profile> make_profile(long process_id) const;
  bool open(Profile& profile);
  void lose(Profile& profile);
  void begin();
  void keep_old_files();
  void write(Profile& profile, const std::function<void(store::Loader&)>& what);
  Profile* profile_of(const wire::Frame& frame);
  bool is_of_sampler(const wire::Frame& frame);
  void take_of_sampler(const wire::Frame& frame);
  void end_capture(const Error& error);
  void look_for_files();

  Options options_;
  bool per_process_;
  bool begun_ = false;  // a process is there, or the run is over
  std::unique_ptr<record::OutputFile> capture_file_;
  std::unique_ptr<wire::CaptureWriter> capture_;
  std::string capture_damage_;
  std::string kept_;
  std::vector<wire::Frame> run_frames_;                                  // every file has them
  std::set<std::uint32_t> samplers_;                                     // streams, as their frames
  std::vector<std::pair<schema::StatisticName, std::uint64_t>> counts_;  // and these
  std::vector<std::pair<schema::StatisticName, std::string>> reasons_;
  std::vector<std::unique_ptr<Profile>> profiles_;
  // By stream. Null: its file was removed, and what comes is thrown away.
  std::map<std::uint32_t, Profile*> of_streams_;
  bool file_lost_ = false;
};

}  // namespace gpuprof::record
