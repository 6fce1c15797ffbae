#include "libprof/record/recorder.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "libprof/base/file_name.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/memory/process_memory.hpp"
#include "libprof/record/empty_profile.hpp"
#include "libprof/record/native_lines.hpp"
#include "libprof/wire/messages.hpp"
#include "schema/legacy.hpp"
#include "schema/sampled.hpp"

namespace gpuprof::record {
namespace {

// The launcher's own are a handful; a sampler's, which may be forged, one per table.
constexpr std::size_t most_run_frames = 4096;

// Rows that describe what samples refer to.
bool describes_samples(const wire::Frame& frame) {
  constexpr std::size_t longest = 1 << 20;
  if (frame.length > longest) return false;
  const auto rows = wire::decode_own_rows(frame.payload());
  return rows && std::ranges::all_of(rows->tables, [](const auto& each) {
           return each.table.name == schema::PmMetric::table.name ||
                  each.table.name == schema::PmDevice::table.name;
         });
}

wire::Frame copy(const wire::Frame& frame) {
  return wire::make_frame(frame.type, frame.stream, frame.payload());
}

}  // namespace

Recorder::Recorder(Options options)
    : options_(std::move(options)), per_process_(names_process(options_.output)) {
  options_.loader.derive = [indexes = options_.loader.indexes, stop = options_.loader.hurried,
                            progress = options_.loader.progress,
                            native = options_.native_stacks](store::Database& database) {
    const std::string problem = native ? name_native_frames(database, stop) : std::string();
    const std::string other = compute::compute(
        database,
        {.indexes = indexes ? std::span(schema::indexes) : std::span<const schema::Index>(),
         .stop = stop,
         .progress = progress,
         .more = memory::write_process_memory});
    return other.empty() ? problem : other;
  };
  if (!options_.capture.empty()) {
    capture_file_ = std::make_unique<record::OutputFile>(expand_name(options_.capture, getpid()),
                                                         options_.files);
    capture_ = std::make_unique<wire::CaptureWriter>(capture_file_->path(), capture_file_->name());
  }
  if (!per_process_) profiles_.push_back(make_profile(getpid()));
}

std::unique_ptr<Recorder::Profile> Recorder::make_profile(long process_id) const {
  record::FileRules rules = options_.files;
  rules.numbered = per_process_;
  auto profile = std::make_unique<Profile>(
      std::make_unique<record::OutputFile>(expand_name(options_.output, process_id), rules));
  // SQLite names its additional files after the database: until that has its final name, it is not
  // kept open.
  store::Database database(profile->file->path(), store::Database::Mode::create,
                           {.shown_as = profile->file->name()});
  write_empty_profile(database, options_.loader.live);
  return profile;
}

// False: the file was removed or replaced.
bool Recorder::open(Profile& profile) {
  record::OutputFile& file = *profile.file;
  if (options_.loader.live) file.place();
  try {
    store::Database database(file.path(), store::Database::Mode::read_write,
                             {.shown_as = file.name()});
    if (!file.there()) return false;
    profile.loader = std::make_unique<store::Loader>(std::move(database), options_.loader);
  } catch (const Error&) {
    if (!file.there()) return false;
    throw;
  }
  for (const char* suffix : {"-wal", "-shm"}) {
    if (file.placed()) profile.logs.emplace_back(file.path() + suffix);
  }
  for (const wire::Frame& frame : run_frames_) profile.loader->load(frame);
  for (const auto& [statistic, value] : counts_) profile.loader->count(statistic, value);
  for (const auto& [statistic, text] : reasons_) profile.loader->explain(statistic, text);
  return true;
}

void Recorder::begin() {
  if (std::exchange(begun_, true)) return;
  try {
    if (capture_) capture_file_->place();
  } catch (const Error& error) {
    end_capture(error);
  }
  if (!per_process_ && !profiles_.empty() && !open(*profiles_.front())) lose(*profiles_.front());
}

// For a run without processes: what was recorded before is worth more.
void Recorder::keep_old_files() {
  if (begun_) return;
  if (!profiles_.empty() && profiles_.front()->file->replaces()) {
    kept_ = profiles_.front()->file->name();
    profiles_.clear();
  }
  if (capture_file_ && capture_file_->replaces()) {
    capture_.reset();
    capture_file_.reset();
  }
}

Recorder::File::File(std::string path_of_it) : path(std::move(path_of_it)) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return;
  device = status.st_dev;
  inode = status.st_ino;
}

bool Recorder::File::there() const {
  // The file is open, so its inode number cannot be reused meanwhile.
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
  explain("capture_cut", capture_damage_);
}

// SQLite would be writing to files without a name, which nobody can ever read.
void Recorder::look_for_files() {
  std::erase_if(profiles_, [&](const std::unique_ptr<Profile>& profile) {
    if (profile->file->there()) return false;
    lose(*profile);
    return true;
  });
}

void Recorder::lose(Profile& profile) {
  // Its logs remain, and would be used as those of the next file with that name.
  for (const File& log : profile.logs) {
    if (log.there()) unlink(log.path.c_str());
  }
  const std::string text =
      profile.file->name() + ": somebody removed or replaced it while it was written";
  if (!per_process_) throw Error(text, "", ExitCode::output_failed);
  file_lost_ = true;
  for (auto& [stream, its] : of_streams_) {
    if (its == &profile) its = nullptr;
  }
  if (options_.say) options_.say(text + "; its process is not recorded any more");
}

void Recorder::take(wire::Frame frame) {
  // The capture gets everything, including table definitions, so that it is self-contained.
  if (capture_ && frame.type != wire::FrameType::arena) {
    try {
      capture_->write(frame);
    } catch (const Error& error) {
      end_capture(error);
    }
  }
  if (frame.stream == wire::run_stream) {
    if (per_process_ || !begun_) run_frames_.push_back(copy(frame));
    for (const auto& profile : profiles_) {
      if (profile->loader) profile->loader->load(frame);
    }
    return;
  }
  begin();
  if (per_process_ && is_of_sampler(frame)) return take_of_sampler(frame);
  if (Profile* profile = profile_of(frame)) {
    write(*profile, [&](store::Loader& loader) { loader.load(frame); });
  }
}

bool Recorder::is_of_sampler(const wire::Frame& frame) {
  if (frame.type == wire::FrameType::hello &&
      wire::decode_hello(frame.payload()).role() == wire::Role::sampler) {
    samplers_.insert(frame.stream);
  }
  return samplers_.contains(frame.stream);
}

// Files created later get what describes the sampler's rows, but not the rows that came before.
void Recorder::take_of_sampler(const wire::Frame& frame) {
  switch (frame.type) {
    case wire::FrameType::hello:
    case wire::FrameType::info:
    case wire::FrameType::table:
      if (run_frames_.size() < most_run_frames) run_frames_.push_back(copy(frame));
      break;
    case wire::FrameType::rows:
      if (describes_samples(frame) && run_frames_.size() < most_run_frames) {
        run_frames_.push_back(copy(frame));
      }
      break;
    default: break;
  }
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    if (!profiles_[i]->loader) continue;
    write(*profiles_[i], [&](store::Loader& loader) { loader.load(frame); });
  }
}

// SQLite has its own errors for a file that is gone: reports it as removed instead.
void Recorder::write(Profile& profile, const std::function<void(store::Loader&)>& what) {
  try {
    what(*profile.loader);
  } catch (const store::DatabaseError&) {
    if (!profile.file->placed() || profile.file->there()) throw;
    look_for_files();
  }
}

// Null: nowhere.
Recorder::Profile* Recorder::profile_of(const wire::Frame& frame) {
  if (!per_process_) return profiles_.front().get();
  const auto known = of_streams_.find(frame.stream);
  if (known != of_streams_.end()) return known->second;
  if (frame.type != wire::FrameType::hello) return nullptr;
  const wire::Hello hello = wire::decode_hello(frame.payload());
  auto profile = make_profile(static_cast<long>(hello.process_id()));
  if (!open(*profile)) {
    lose(*profile);
    return of_streams_[frame.stream] = nullptr;
  }
  profiles_.push_back(std::move(profile));
  return of_streams_[frame.stream] = profiles_.back().get();
}

void Recorder::refuse(std::uint32_t stream, const std::string& why) {
  const auto known = of_streams_.find(stream);
  Profile* profile = !per_process_                ? profiles_.front().get()
                     : known != of_streams_.end() ? known->second
                                                  : nullptr;
  if (profile && profile->loader) profile->loader->refuse(stream, why);
}

void Recorder::commit() {
  look_for_files();
  // profiles_ shrinks if one is lost meanwhile: the skipped one is committed next time.
  for (std::size_t i = 0; i < profiles_.size(); ++i) {
    if (!profiles_[i]->loader) continue;
    write(*profiles_[i], [](store::Loader& loader) { loader.commit(); });
  }
}

void Recorder::finish() {
  keep_old_files();
  begin();
  try {
    if (capture_) capture_->close();
  } catch (const Error& error) {
    end_capture(error);
  }
  look_for_files();
  for (const auto& profile : profiles_) {
    profile->loader->finish();
    if (profile->file->placed()) continue;
    profile->loader->move([&] {
      profile->file->place();
      return store::Database(profile->file->path(), store::Database::Mode::read_write,
                             {.shown_as = profile->file->name()});
    });
  }
  look_for_files();
}

std::vector<std::string> Recorder::files() const {
  std::vector<std::string> names;
  for (const auto& profile : profiles_) names.push_back(profile->file->name());
  return names;
}

void Recorder::count(schema::StatisticName statistic, std::uint64_t value) {
  counts_.emplace_back(statistic, value);
  for (const auto& profile : profiles_) {
    if (profile->loader) profile->loader->count(statistic, value);
  }
}

void Recorder::explain(schema::StatisticName statistic, const std::string& text) {
  reasons_.emplace_back(statistic, text);
  for (const auto& profile : profiles_) {
    if (profile->loader) profile->loader->explain(statistic, text);
  }
}

store::LoadTotals Recorder::totals() const {
  store::LoadTotals all;
  for (const auto& profile : profiles_) {
    if (profile->loader) all += profile->loader->totals();
  }
  return all;
}

bool Recorder::still_open() const {
  for (const auto& profile : profiles_) {
    if (profile->loader && profile->loader->still_open()) return true;
  }
  return false;
}

std::vector<store::Loader*> Recorder::loaders() {
  std::vector<store::Loader*> all;
  for (const auto& profile : profiles_) {
    if (profile->loader) all.push_back(profile->loader.get());
  }
  return all;
}

}  // namespace gpuprof::record
