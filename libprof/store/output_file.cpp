#include "libprof/store/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "libprof/store/profile_file.hpp"
#include "libprof/wire/format.hpp"

namespace gpuprof::store {
namespace {

constexpr std::array<std::string_view, 3> companions{"-wal", "-shm", "-journal"};

std::filesystem::path folder_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

Error refusal(const std::string& message, const std::string& hint) {
  return Error(message, hint, ExitCode::output_failed);
}

Error failure(const std::string& path, int error) {
  return refusal(path + ": " + std::strerror(error), "");
}

std::string beginning(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  std::array<char, 16> bytes{};
  const ssize_t got = read(file, bytes.data(), bytes.size());
  close(file);
  return {bytes.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

constexpr char only_profiles[] = "-f replaces profiles, captures and empty files";

// A file whose kind and size are known.
std::optional<Error> why_not_replaced(const std::string& path) {
  const std::string head = beginning(path);
  if (head.starts_with(wire::capture_magic)) return std::nullopt;
  if (!head.starts_with("SQLite format 3")) {
    return refusal(path + " is neither a profile nor a capture", only_profiles);
  }
  const ProfileFile profile(path);
  if (profile.format() != Format::gpuprof && profile.format() != Format::nvprof) {
    const std::string what = profile.format() == Format::no_database
                                 ? "is a database that cannot be read"
                                 : "is: " + profile.description();
    return refusal(path + " " + what, only_profiles);
  }
  if (profile.in_use() && profile.unfinished()) {
    return refusal(path + " is being written by another gpuprof", "choose another name");
  }
  return std::nullopt;
}

// What SQLite keeps beside a database. Of nobody's making but its own.
bool is_companion(const std::string& path, std::string_view suffix) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  if (status.st_size == 0) return true;
  const std::string head = beginning(path);
  if (suffix == "-wal") return head.starts_with("\x37\x7f\x06");
  if (suffix == "-journal") {
    using namespace std::string_view_literals;
    // One that was ended has zeros there.
    return head.starts_with("\xd9\xd5\x05\xf9") || head.starts_with("\0\0\0\0"sv);
  }
  return true;  // shared memory: it says nothing of itself, and holds nothing of anybody's
}

}  // namespace

std::optional<Error> why_not_written(const std::string& path, bool overwrite) {
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
      return refusal(path + " is no ordinary file", "give the name of a file");
    }
    if (!overwrite) {
      return refusal(path + " exists", "choose another name, or replace it with -f");
    }
    if (status.st_size > 0) {
      if (auto why = why_not_replaced(path)) return why;
    }
  }
  for (const std::string_view suffix : companions) {
    const std::string beside = path + std::string(suffix);
    if (lstat(beside.c_str(), &link) != 0) continue;
    if (!there && !overwrite) {
      return refusal(beside + " is there, of another file that had the name",
                     "choose another name, or replace it with -f");
    }
    if (!is_companion(beside, suffix)) {
      return refusal(beside + " is in the way", "remove it, or choose another name");
    }
  }
  return std::nullopt;
}

OutputFile::OutputFile(std::string path, FileRules rules)
    : wanted_(std::move(path)), rules_(rules) {
  if (const auto why = why_not_written(wanted_, rules_.overwrite)) throw *why;
  const std::filesystem::path wanted(wanted_);
  folder_.emplace(folder_of(wanted).string(), ".gpuprof-");
  path_ = *folder_ / wanted.filename().string();
  const int file = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0 || fchmod(file, rules_.mode) != 0) {
    const int error = errno;
    if (file >= 0) close(file);
    throw failure(wanted_, error);
  }
  close(file);
}

bool OutputFile::place(const std::string& path) {
  if (placed()) return true;
  if (why_not_written(path, rules_.overwrite)) return false;
  const std::filesystem::path place(path);
  const std::string target = std::filesystem::canonical(folder_of(place)) / place.filename();
  // A log that stayed would be taken for the new file's. It leaves before that comes, and comes
  // back if that does not.
  std::array<bool, companions.size()> moved{};
  const auto kept = [&](std::size_t i) { return *folder_ / ("old" + std::string(companions[i])); };
  for (std::size_t i = 0; i < companions.size(); ++i) {
    const std::string beside = target + std::string(companions[i]);
    moved[i] = rename(beside.c_str(), kept(i).c_str()) == 0;
  }
  int failed = 0;
  if (rules_.overwrite) {
    failed = rename(path_.c_str(), target.c_str());
  } else {
    failed = renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE);
    if (failed != 0 && (errno == EINVAL || errno == ENOSYS)) {
      // Not every file system can do that. Between link and unlink the file has two names.
      failed = link(path_.c_str(), target.c_str());
    }
  }
  if (failed != 0) {
    const int error = errno;
    for (std::size_t i = 0; i < companions.size(); ++i) {
      const std::string beside = target + std::string(companions[i]);
      if (moved[i]) rename(kept(i).c_str(), beside.c_str());
    }
    if (error == EEXIST) return false;
    throw failure(path, error);
  }
  path_ = target;
  folder_.reset();
  return true;
}

std::string numbered_name(const std::string& path, int number) {
  const std::filesystem::path whole(path);
  const std::string extension = whole.extension().string();
  return path.substr(0, path.size() - extension.size()) + "-" + std::to_string(number) + extension;
}

}  // namespace gpuprof::store
