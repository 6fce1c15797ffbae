#include "apps/gpuprof/recorder.hpp"

#include <sys/stat.h>
#include <unistd.h>

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
  files_.push_back(path);
  for (const wire::Frame& frame : run_frames_) loader->load(frame);
  return loader;
}

void Recorder::take(wire::Frame frame) {
  // Table definitions and such travel in the capture as well: it needs nothing but itself.
  if (capture_ && frame.type != wire::FrameType::arena) capture_->write(frame);
  if (frame.stream == wire::run_stream) {
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
    if (frame.type != wire::FrameType::hello) return;
    wire::Decoder decoder(frame.payload());
    decoder.integer<std::uint32_t>();
    const long process_id = static_cast<long>(decoder.fields().integer("process_id"));
    loader = loaders_.emplace(frame.stream, make_loader(process_id)).first;
  }
  loader->second->load(frame);
}

void Recorder::refuse(std::uint32_t stream, const std::string& why) {
  if (single_) return single_->refuse(stream, why);
  const auto loader = loaders_.find(stream);
  if (loader != loaders_.end()) loader->second->refuse(stream, why);
}

void Recorder::commit() {
  if (single_) single_->commit();
  for (auto& [stream, loader] : loaders_) loader->commit();
}

void Recorder::finish() {
  if (single_) single_->finish();
  for (auto& [stream, loader] : loaders_) loader->finish();
  if (capture_) capture_->close();
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
