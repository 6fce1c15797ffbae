// Where the frames of a run go: into one database, or one per process, and into a capture besides.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

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
  };

  // Checks the output file, and makes it unless there is one per process. Throws gpuprof::Error.
  explicit Recorder(Options options);

  void take(wire::Frame frame);
  // Nothing more of this stream is recorded, because of `why`.
  void refuse(std::uint32_t stream, const std::string& why);
  void commit();
  void finish();
  void count(schema::StatisticName statistic, std::uint64_t value);

  store::LoadTotals totals() const;
  // After finish(): some file is open elsewhere and still has its log beside it.
  bool still_open() const;
  // The files there are, in the order they were made.
  const std::vector<std::string>& files() const { return files_; }
  // What wrote them, for reports.
  std::vector<store::Loader*> loaders();

 private:
  std::unique_ptr<store::Loader> make_loader(long process_id);

  Options options_;
  bool per_process_;
  std::unique_ptr<wire::CaptureWriter> capture_;
  std::vector<wire::Frame> run_frames_;                              // every file has them
  std::map<std::uint32_t, std::unique_ptr<store::Loader>> loaders_;  // by stream
  std::unique_ptr<store::Loader> single_;
  std::vector<std::string> files_;
};

}  // namespace gpuprof::app
