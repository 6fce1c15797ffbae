#include "libprof/record/snapshots.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::record {
namespace {

constexpr std::chrono::milliseconds snapshot_patience{3'600'000};
// Launchers look at their files twice a second, and records of the same moment come to different
// files at different times. A program may also do again at once what failed, as PyTorch does with
// an allocation.
constexpr std::chrono::seconds same_incident{2};
constexpr std::string_view shape_of_name = "-00000000-000000";

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

Snapshots::Moment Snapshots::Moment::now() {
  std::array<char, 32> text{};
  const std::int64_t ns = clock_ns(CLOCK_REALTIME);
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  std::strftime(text.data(), text.size(), "-%Y%m%d-%H%M%S", localtime_r(&seconds, &parts));
  return {.name = text.data(), .realtime = ns};
}

bool Snapshots::Moment::is_plausible() const {
  return realtime > 0 && std::ranges::equal(name, shape_of_name, [](char c, char shape) {
           return shape == '0' ? c >= '0' && c <= '9' : c == shape;
         });
}

void Snapshots::write(const std::vector<std::string>& files, const std::string& why,
                      const Moment& moment, bool cut) {
  for (const std::string& file : files) {
    const std::string name = free_name(file, moment.name);
    std::vector<std::string> words{"snapshot", file,           "-q",        "-o",
                                   name,       "--why=" + why, "--as-it-is"};
    if (cut) words.push_back("--until=" + std::to_string(moment.realtime));
    try {
      copies_.push_back(
          {name, why,
           std::make_unique<HelperProcess>("/proc/self/exe", words,
                                           std::vector<HelperProcess::File>{}, snapshot_patience)});
    } catch (const Error& error) {
      note(name + ": " + error.what());
    }
  }
}

void Snapshots::add_incident(const std::string& why, Clock::time_point due) {
  if (last_ && why == latest_ && due - *last_ < same_incident) return;
  if (waiting_) {
    ++waiting_->more;
  } else {
    waiting_ = {why, 0, due};
  }
}

void Snapshots::add_incident_of_a_job(const std::string& why, Clock::time_point now) {
  if (!another_ || now - *another_ >= same_incident) return add_incident(why, now);
  note(why + ": it is in the snapshot that was asked for");
}

std::string Snapshots::refusal(Clock::time_point now) const {
  if (begun_ == limits_.most) {
    return "it has written " + count_of(begun_, "snapshot") + ", and writes no more (--snapshots)";
  }
  if (last_ && now - *last_ < limits_.between) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now - *last_).count();
    return "its last one was begun " + std::to_string(ms) + " ms before";
  }
  return writes() ? "it still writes the one before" : "";
}

std::string Snapshots::begin_for_another(const std::string& why, Clock::time_point now) {
  ++begun_;
  last_ = another_ = now;
  const auto own = std::exchange(waiting_, std::nullopt);
  return own ? why + "; and here: " + own->text() : why;
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
  const Waiting incident = *std::exchange(waiting_, std::nullopt);
  const std::string why = incident.text();
  if (full) {
    if (!std::exchange(said_, true)) {
      note(why + "; " + count_of(begun_, "snapshot") + " were written, no more are (--snapshots)");
    }
    return std::nullopt;
  }
  ++begun_;
  last_ = now;
  latest_ = incident.why;
  return why;
}

}  // namespace gpuprof::record
