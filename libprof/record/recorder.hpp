// Where the frames of a run go: into one database, or one per process, and optionally into a
// capture. Data of the whole run, including samplers' data, goes into each database.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/record/output_file.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"

namespace gpuprof::record {

// A file gets its name, replacing any previous one, when the first process connects; a file that is
// not read while being written gets it when complete. A run that ends without a process keeps an
// existing file of that name. Files for single processes are numbered if their names would be the
// same.
class Recorder {
 public:
  struct Options {
    std::string output;  // may contain %p
    record::FileRules files;
    store::LoaderOptions loader;
    std::string capture;         // empty: no capture
    bool native_stacks = false;  // native functions in stacks get names and lines
    // Receives errors that do not end the recording, on the thread that calls take(), commit() or
    // finish(). May be empty.
    std::function<void(const std::string& text)> say = {};
  };

  // Creates the files, still without their names, unless there is one per process. Throws
  // gpuprof::Error.
  explicit Recorder(Options options);

  // A capture that cannot be written ends there, and the databases go on. If one of several
  // databases is removed, the others go on. Both are reported, and failed() is true from then on.
  // Any other failure throws gpuprof::Error.
  void take(wire::Frame frame);
  // Records nothing more from this stream, because of `why`.
  void refuse(std::uint32_t stream, const std::string& why);
  void commit();
  void finish();
  void count(schema::StatisticName statistic, std::uint64_t value);
  // Explains a count; stored in all existing files.
  void explain(schema::StatisticName statistic, const std::string& text);

  // A process has connected.
  bool begun() const { return begun_; }
  store::LoadTotals totals() const;
  // After finish(): some file is open elsewhere and still has its log next to it.
  bool still_open() const;
  // Whether some output is missing or incomplete.
  bool failed() const { return !capture_damage_.empty() || file_lost_; }
  // Why the capture ends early; empty: it does not.
  const std::string& capture_damage() const { return capture_damage_; }
  // The existing files, in the order they were created.
  std::vector<std::string> files() const;
  // After finish(): the profile that was left as it was, because no process came; empty: none.
  const std::string& kept() const { return kept_; }
  // The loaders that wrote them, for reports.
  std::vector<store::Loader*> loaders();

 private:
  // Identifies a file: another one with the same name is not ours.
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
    std::unique_ptr<store::Loader> loader;  // null: nothing to write yet
    std::vector<File> logs;                 // SQLite's, next to the file
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
  bool begun_ = false;  // a process has connected, or the run is over
  std::unique_ptr<record::OutputFile> capture_file_;
  std::unique_ptr<wire::CaptureWriter> capture_;
  std::string capture_damage_;
  std::string kept_;
  std::vector<wire::Frame> run_frames_;                                  // written to every file
  std::set<std::uint32_t> samplers_;                                     // stream numbers
  std::vector<std::pair<schema::StatisticName, std::uint64_t>> counts_;  // written to every file
  std::vector<std::pair<schema::StatisticName, std::string>> reasons_;
  std::vector<std::unique_ptr<Profile>> profiles_;
  // Null: the stream's file was removed, and its frames are discarded.
  std::map<std::uint32_t, Profile*> of_streams_;
  bool file_lost_ = false;
};

}  // namespace gpuprof::record
