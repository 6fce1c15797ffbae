#include "apps/gpuprof/recorder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/launch/file_name.hpp"

namespace gpuprof::app {
namespace {

wire::Frame copy(const wire::Frame& frame) {
  return wire::make_frame(frame.type, frame.stream, frame.payload());
}

void make_room(const std::string& path, bool overwrite) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  if (S_ISDIR(status.st_mode)) {
    throw Error(path + " is a folder", "give the name of a file", ExitCode::output_failed);
  }
  if (!overwrite) {
    throw Error(path + " exists", "choose another name, or replace it with -f",
                ExitCode::output_failed);
  }
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    const std::string file = path + suffix;
    if (unlink(file.c_str()) != 0 && errno != ENOENT) {
      throw Error(file + ": " + std::strerror(errno), "", ExitCode::output_failed);
    }
  }
}

}  // namespace

Recorder::Recorder(Options options)
    : options_(std::move(options)), per_process_(launch::names_process(options_.output)) {
  if (!options_.capture.empty()) {
    const std::string path = launch::expand_name(options_.capture, getpid());
    make_room(path, options_.overwrite);
    capture_ = std::make_unique<wire::CaptureWriter>(path);
  }
  if (!per_process_) single_ = make_loader(getpid());
}

std::unique_ptr<store::Loader> Recorder::make_loader(long process_id) {
  const std::string path = launch::expand_name(options_.output, process_id);
  make_room(path, options_.overwrite);
  auto loader = std::make_unique<store::Loader>(
      store::Database(path, store::Database::Mode::create), options_.loader);
  profiles_.push_back({File(path), {File(path + "-wal"), File(path + "-shm")}});
  for (const wire::Frame& frame : run_frames_) loader->load(frame);
  return loader;
}

Recorder::File::File(std::string path_of_it) : path(std::move(path_of_it)) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  device = status.st_dev;
  inode = status.st_ino;
}

bool Recorder::File::there() const {
  // Somebody has it open, so no other one has its number meanwhile.
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

void Recorder::end_capture(const Error& error) {
  capture_.reset();
  capture_damage_ = error.what();
  if (options_.say) {
    options_.say(capture_damage_ + "; the capture ends here, the database goes on" +
                 (error.hint().empty() ? "" : "\n  " + error.hint()));
  }
  count("capture_cut", 1);
}

// What SQLite writes to a file without a name nobody will ever read.
void Recorder::look_for_files() {
  std::erase_if(profiles_, [&](const Profile& profile) {
    if (profile.file.there()) return false;
    // It leaves its logs, which would be taken for those of the next file of that name.
    for (const File& log : profile.logs) {
      if (log.there()) unlink(log.path.c_str());
    }
    const std::string& path = profile.file.path;
    const std::string text = path + ": somebody removed or replaced it while it was written";
    if (single_) throw Error(text, "", ExitCode::output_failed);
    file_lost_ = true;
    std::erase_if(loaders_, [&](const auto& loader) {
      const bool its = loader.second->database().path() == path;
      if (its) given_up_.insert(loader.first);
      return its;
    });
    if (options_.say) options_.say(text + "; its process is not recorded any more");
    return true;
  });
}

void Recorder::take(wire::Frame frame) {
  // Table definitions and such travel in the capture as well: it needs nothing but itself.
  if (capture_ && frame.type != wire::FrameType::arena) {
    try {
      capture_->write(frame);
    } catch (const Error& error) {
      end_capture(error);
    }
  }
  if (frame.type == wire::FrameType::run || frame.type == wire::FrameType::metrics) {
    if (single_) single_->load(frame);
    for (auto& [stream, loader] : loaders_) loader->load(frame);
    if (per_process_) run_frames_.push_back(copy(frame));
    return;
  }
  if (single_) {
    single_->load(frame);
    return;
  }
  auto loader = loaders_.find(frame.stream);
  if (loader == loaders_.end()) {
    if (frame.type != wire::FrameType::hello || given_up_.contains(frame.stream)) return;
    wire::Decoder decoder(frame.payload());
    decoder.integer<std::uint32_t>();
    const long process_id = static_cast<long>(decoder.fields().integer("process_id"));
    loader = loaders_.emplace(frame.stream, make_loader(process_id)).first;
  }
  loader->second->load(frame);
}

void Recorder::commit() {
  look_for_files();
  if (single_) single_->commit();
  for (auto& [stream, loader] : loaders_) loader->commit();
}

void Recorder::finish() {
  try {
    if (capture_) capture_->close();
  } catch (const Error& error) {
    end_capture(error);
  }
  look_for_files();
  if (single_) single_->finish();
  for (auto& [stream, loader] : loaders_) loader->finish();
  look_for_files();
}

std::vector<std::string> Recorder::files() const {
  std::vector<std::string> paths;
  for (const Profile& profile : profiles_) paths.push_back(profile.file.path);
  return paths;
}

void Recorder::count(schema::StatisticName statistic, std::uint64_t value) {
  if (single_) single_->count(statistic, value);
  for (auto& [stream, loader] : loaders_) loader->count(statistic, value);
}

store::LoadTotals Recorder::totals() const {
  if (single_) return single_->totals();
  store::LoadTotals all;
  for (const auto& [stream, loader] : loaders_) all += loader->totals();
  return all;
}

bool Recorder::still_open() const {
  if (single_) return single_->still_open();
  for (const auto& [stream, loader] : loaders_) {
    if (loader->still_open()) return true;
  }
  return false;
}

std::vector<store::Loader*> Recorder::loaders() {
  if (single_) return {single_.get()};
  std::vector<store::Loader*> all;
  for (const auto& [stream, loader] : loaders_) all.push_back(loader.get());
  return all;
}

}  // namespace gpuprof::app
