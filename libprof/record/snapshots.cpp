#include "libprof/record/snapshots.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <filesystem>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::record {
namespace {

constexpr std::chrono::milliseconds snapshot_patience{3'600'000};

}  // namespace

std::string Snapshots::Waiting::text() const {
  return why + (more > 0 ? " (and " + std::to_string(more) + " more)" : "");
}

void Snapshots::note(const std::string& text) const {
  if (note_) note_(text);
}

// The copy does not replace a file either, should one get the name meanwhile.
std::string Snapshots::free_name(const std::string& file) const {
  std::array<char, 32> time{};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  std::strftime(time.data(), time.size(), "-%Y%m%d-%H%M%S", localtime_r(&now, &parts));
  const std::filesystem::path path(file);
  const std::string stem = path.parent_path() / (path.stem().string() + time.data());
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

void Snapshots::write(const std::string& file, const std::string& why) {
  const std::string name = free_name(file);
  try {
    copies_.push_back(
        {file, name, why,
         std::make_unique<HelperProcess>(
             "/proc/self/exe",
             std::vector<std::string>{"snapshot", file, "-q", "-o", name, "--why=" + why},
             std::vector<HelperProcess::File>{}, snapshot_patience)});
  } catch (const Error& error) {
    note(name + ": " + error.what());
  }
}

void Snapshots::add_incident(const std::string& file, const std::string& why,
                             Clock::time_point due) {
  const auto [waiting, is_new] = waiting_.try_emplace(file, Waiting{why, 0, due});
  if (!is_new) ++waiting->second.more;
}

bool Snapshots::writes(const std::string& file) const {
  return std::ranges::find(copies_, file, &Copy::file) != copies_.end();
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

void Snapshots::write_due(Clock::time_point now) {
  std::erase_if(waiting_, [&](const auto& each) {
    const auto& [file, waiting] = each;
    const auto last = last_.find(file);
    const bool too_soon = last != last_.end() && now - last->second < limits_.between;
    if (begun_ < limits_.most && (now < waiting.due || too_soon || writes(file))) return false;
    if (begun_ == limits_.most) {
      if (!std::exchange(said_, true)) {
        note(waiting.why + "; " + count_of(begun_, "snapshot") +
             " were written, no more are (--snapshots)");
      }
      return true;
    }
    ++begun_;
    last_[file] = now;
    write(file, waiting.text());
    return true;
  });
}

}  // namespace gpuprof::record
