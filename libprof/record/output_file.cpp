#include "libprof/record/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "libprof/base/path.hpp"
#include "libprof/base/regular_file.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/wire/format.hpp"

namespace gpuprof::record {
namespace {

constexpr std::string_view shared_memory = "-shm";
constexpr std::array<std::string_view, 3> companions{"-wal", shared_memory, "-journal"};

// Names that this process is giving or has given to files.
struct Names {
  std::mutex mutex;
  std::set<std::string> taken;
};

Names& names() {
  static Names& all = *new Names;  // never destroyed: files may outlive static objects
  return all;
}

bool take_name(const std::string& path) {
  const std::lock_guard lock(names().mutex);
  return names().taken.insert(resolved(path)).second;
}

void give_name_back(const std::string& path) {
  const std::lock_guard lock(names().mutex);
  names().taken.erase(path);
}

Error refusal(const std::string& message, const std::string& hint) {
  return Error(message, hint, ExitCode::output_failed);
}

Error failure(const std::string& path, int error) {
  return refusal(path + ": " + std::strerror(error), "");
}

std::string beginning(const std::string& path) { return read_beginning(path, 128).value_or(""); }

constexpr char only_profiles[] = "-f replaces profiles, captures and empty files";

// For a database. A process at work on an unfinished profile keeps it; those that only read it come
// and go.
std::optional<Error> why_profile_stays(const std::string& path) {
  constexpr std::chrono::milliseconds between{10};
  constexpr int most_tries = 30;
  for (int tries = 0; tries < most_tries; ++tries) {
    if (tries > 0) std::this_thread::sleep_for(between);
    const reading::ProfileFile profile(path);
    if (profile.format() != reading::Format::gpuprof &&
        profile.format() != reading::Format::nvprof) {
      const std::string what = profile.format() == reading::Format::no_database
                                   ? "is a database that cannot be read"
                                   : "is: " + profile.description();
      return refusal(path + " " + what, only_profiles);
    }
    if (!profile.unfinished() || !profile.in_use()) return std::nullopt;
  }
  return refusal(path + " is unfinished and open elsewhere: another gpuprof may be at work on it",
                 "choose another name, or end the process that has it open");
}

// For a file whose kind and size are known.
std::optional<Error> why_not_replaced(const std::string& path, const FileRules& rules) {
  const std::string head = beginning(path);
  const bool others = rules.is_one || !rules.begins.empty();
  if (others && head.starts_with(rules.begins) && (!rules.is_one || rules.is_one(path))) {
    return std::nullopt;
  }
  if (!rules.profiles) return refusal(path + " holds something else", "choose another name");
  if (head.starts_with(wire::capture_magic)) return std::nullopt;
  if (!head.starts_with("SQLite format 3")) {
    return refusal(path + " is neither a profile nor a capture", only_profiles);
  }
  return why_profile_stays(path);
}

// Whether a file was left by SQLite next to a database and by nothing else.
bool is_companion(const std::string& path, std::string_view suffix) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size == 0) return true;
  const std::string head = beginning(path);
  if (suffix == "-wal") return head.starts_with("\x37\x7f\x06");
  if (suffix == "-journal") {
    using namespace std::string_view_literals;
    // a finished one has zeros there
    return head.starts_with("\xd9\xd5\x05\xf9") || head.starts_with("\0\0\0\0"sv);
  }
  return true;  // shared memory: it has no signature and holds no data
}

// For a file that no part of this process has open.
std::optional<Error> why_not_written(const std::string& path, const FileRules& rules) {
  struct stat link {};
  struct stat status {};
  const bool there = lstat(path.c_str(), &link) == 0;
  if (!there && errno != ENOENT) return failure(path, errno);
  if (there && stat(path.c_str(), &status) != 0) {
    if (S_ISLNK(link.st_mode)) {
      return refusal(path + " is a symbolic link that leads nowhere",
                     "remove it, or choose another name");
    }
    return failure(path, errno);
  }
  if (there) {
    if (S_ISDIR(status.st_mode)) return refusal(path + " is a folder", "give the name of a file");
    if (!S_ISREG(status.st_mode)) {
      return refusal(path + " is not a regular file", "give the name of a file");
    }
    const auto is_read = [&](const std::string& input) {
      struct stat read {};
      return stat(input.c_str(), &read) == 0 && read.st_dev == status.st_dev &&
             read.st_ino == status.st_ino;
    };
    if (std::ranges::any_of(rules.inputs, is_read)) {
      return refusal("-o names the file that is read", "choose another name");
    }
    if (!rules.overwrite) {
      return refusal(path + " exists",
                     "choose another name, or replace it with " + std::string(rules.option));
    }
    if (status.st_size > 0) {
      if (auto why = why_not_replaced(path, rules)) return why;
    }
  }
  for (const std::string_view suffix : companions) {
    const std::string beside = path + std::string(suffix);
    if (lstat(beside.c_str(), &link) != 0) continue;
    if (!is_companion(beside, suffix)) {
      return refusal(beside + " is in the way", "remove it, or choose another name");
    }
    if (!there && !rules.overwrite && link.st_size > 0 && suffix != shared_memory) {
      return refusal(beside + " is there, of another file that had the name",
                     "choose another name, or replace it with " + std::string(rules.option));
    }
  }
  return std::nullopt;
}

std::string numbered_name(const std::string& path, int number) {
  if (number == 1) return path;
  const std::string extension = std::filesystem::path(path).extension().string();
  return path.substr(0, path.size() - extension.size()) + "-" + std::to_string(number) + extension;
}

// Renames unless the new name exists. Returns 0 or errno.
int rename_to_free_name(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Not every file system supports that. An empty file of our own may be replaced.
  const int file = open(to.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return errno;
  close(file);
  return rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

}  // namespace

OutputFile::OutputFile(std::string name, FileRules rules)
    : wanted_(std::move(name)), rules_(std::move(rules)) {
  if (wanted_ == "-") {
    throw Error("profiles and captures cannot be written to standard output",
                "name a file; ./- is one that is called -", ExitCode::bad_option);
  }
  choose_name();
  try {
    folder_ = std::make_unique<TemporaryFolder>(folder_of(wanted_));
    path_ = *folder_ / "unfinished";
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    const int file = open(path_.c_str(), flags, 0600);
    struct stat status {};
    if (file < 0 || fchmod(file, rules_.mode) != 0 || fstat(file, &status) != 0) {
      const int error = errno;
      if (file >= 0) close(file);
      throw failure(wanted_, error);
    }
    device_ = status.st_dev;
    inode_ = status.st_ino;
    close(file);
  } catch (...) {
    give_name_back(target_);
    throw;
  }
}

OutputFile::~OutputFile() { give_name_back(target_); }

// Takes the first available name, starting from the current number.
void OutputFile::choose_name() {
  constexpr int most_numbers = 100'000;
  for (;; ++number_) {
    name_ = numbered_name(wanted_, number_);
    std::optional<Error> why;
    if (take_name(name_)) {
      target_ = resolved(name_);
      why = why_not_written(name_, rules_);
      if (!why) return;
      give_name_back(target_);
    } else {
      why = refusal(name_ + " is already the name of another file of this run",
                    "choose another name");
    }
    target_.clear();
    if ((!rules_.numbered && path_.empty()) || number_ == most_numbers) throw *why;
  }
}

bool OutputFile::there() const {
  // The file is open, so its inode number cannot be reused meanwhile.
  struct stat status {};
  return stat(path_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool OutputFile::replaces() const {
  struct stat status {};
  return !placed() && stat(target_.c_str(), &status) == 0 && status.st_size > 0;
}

void OutputFile::place() {
  if (placed()) return;
  while (why_not_written(name_, rules_) || !replace()) {
    give_name_back(target_);
    ++number_;
    choose_name();
  }
  path_ = target_;
  folder_.reset();
}

// False: the name was taken in the meantime.
bool OutputFile::replace() {
  // A log left behind would be used as the new file's. It is moved away first, and back if the new
  // file cannot be placed.
  std::array<bool, companions.size()> moved{};
  const auto kept = [&](std::size_t i) { return *folder_ / ("old" + std::string(companions[i])); };
  for (std::size_t i = 0; i < companions.size(); ++i) {
    const std::string beside = target_ + std::string(companions[i]);
    moved[i] = rename(beside.c_str(), kept(i).c_str()) == 0;
  }
  const int error = !rules_.overwrite ? rename_to_free_name(path_, target_)
                    : std::rename(path_.c_str(), target_.c_str()) == 0 ? 0
                                                                       : errno;
  if (error == 0) return true;
  for (std::size_t i = 0; i < companions.size(); ++i) {
    const std::string beside = target_ + std::string(companions[i]);
    if (moved[i]) rename_to_free_name(kept(i), beside);
  }
  if (error == EEXIST) return false;
  throw failure(name_, error);
}

}  // namespace gpuprof::record
