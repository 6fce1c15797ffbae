#include "libprof/record/snapshots.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::record {
namespace {

constexpr std::chrono::milliseconds snapshot_patience{3'600'000};

std::string time_of_name() {
  std::array<char, 32> text{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::strftime(text.data(), text.size(), "-%Y%m%d-%H%M%S", localtime_r(&now, &parts));
  return text.data();
}

}  // namespace

std::string Snapshots::Waiting::text() const {
  return why + (more > 0 ? " (and " + std::to_string(more) + " more)" : "");
}

void Snapshots::note(const std::string& text) const {
  if (note_) note_(text);
}

// The copy does not replace a file either, should one get the name meanwhile.
std::string Snapshots::free_name(const std::string& file, const std::string& time) const {
  const std::filesystem::path path(file);
  const std::string stem = path.parent_path() / (path.stem().string() + time);
  const std::string end = path.extension().string();
  std::string name = stem + end;
  const auto is_taken = [&] {
    struct stat facts {};
    return lstat(name.c_str(), &facts) == 0 ||
           std::ranges::find(copies_, name, &Copy::name) != copies_.end();
  };
  for (int number = 2; is_taken(); ++number) name = stem + "-" + std::to_string(number) + end;
  return name;
}

void Snapshots::write(const std::vector<std::string>& files, const std::string& why) {
  const std::string time = time_of_name();
  for (const std::string& file : files) {
    const std::string name = free_name(file, time);
    try {
      copies_.push_back({name, why,
                         std::make_unique<HelperProcess>(
                             "/proc/self/exe",
                             std::vector<std::string>{"snapshot", file, "-q", "-o", name,
                                                      "--why=" + why, "--as-it-is"},
                             std::vector<HelperProcess::File>{}, snapshot_patience)});
    } catch (const Error& error) {
      note(name + ": " + error.what());
    }
  }
}

void Snapshots::add_incident(const std::string& why, Clock::time_point due) {
  if (waiting_) {
    ++waiting_->more;
  } else {
    waiting_ = {why, 0, due};
  }
}

void Snapshots::look_after() {
  std::erase_if(copies_, [this](const Copy& copy) {
    if (copy.process->overdue()) copy.process->kill();
    if (!copy.process->ended()) return false;
    note(copy.process->succeeded() ? "wrote " + copy.name + ": " + copy.why
                                   : copy.name + " could not be written: " + copy.why);
    return true;
  });
}

std::optional<std::string> Snapshots::due(Clock::time_point now) {
  if (!waiting_) return std::nullopt;
  const bool full = begun_ == limits_.most;
  const bool too_soon = last_ && now - *last_ < limits_.between;
  if (!full && (now < waiting_->due || too_soon || writes())) return std::nullopt;
  const std::string why = std::exchange(waiting_, std::nullopt)->text();
  if (full) {
    if (!std::exchange(said_, true)) {
      note(why + "; " + count_of(begun_, "snapshot") + " were written, no more are (--snapshots)");
    }
    return std::nullopt;
  }
  ++begun_;
  last_ = now;
  return why;
}

}  // namespace gpuprof::record
