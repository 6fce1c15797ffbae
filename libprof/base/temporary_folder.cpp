#include "libprof/base/temporary_folder.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <mutex>
#include <set>
#include <system_error>

#include "libprof/base/error.hpp"

namespace gpuprof {
namespace {

// A folder without it was made by somebody else, or is still being made.
constexpr char lock_name[] = "lock";
constexpr char new_lock_name[] = "new-lock";
constexpr std::time_t longest_without_lock = 3600;  // seconds
constexpr std::size_t random_characters = 6;
// Other users' files can make a temporary folder very full.
constexpr int most_looked_at = 10'000;

struct CloseFolder {
  void operator()(DIR* folder) const { closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// Takes ownership of the descriptor.
Folder opened(int file) {
  DIR* folder = file >= 0 ? fdopendir(file) : nullptr;
  if (!folder && file >= 0) close(file);
  return Folder(folder);
}

int open_folder(int in, const char* name) {
  return openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

// Removes everything in the folder, the lock last: as long as that exists, the folder can be
// recognized as ours.
void empty(int folder_file) {
  const Folder folder = opened(fcntl(folder_file, F_DUPFD_CLOEXEC, 0));
  if (!folder) return;
  rewinddir(folder.get());
  while (const dirent* entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == ".." || name == lock_name) continue;
    if (unlinkat(folder_file, entry->d_name, 0) == 0) continue;
    const int inner = open_folder(folder_file, entry->d_name);
    if (inner < 0) continue;
    empty(inner);
    unlinkat(inner, lock_name, 0);
    close(inner);
    unlinkat(folder_file, entry->d_name, AT_REMOVEDIR);
  }
  unlinkat(folder_file, lock_name, 0);
}

void remove_folder(const std::string& path) {
  const int file = open_folder(AT_FDCWD, path.c_str());
  if (file < 0) return;
  empty(file);
  close(file);
  rmdir(path.c_str());
}

// Creates the lock under another name first, so that nobody finds it unlocked. -1: this file system
// has none.
int make_lock(const std::string& folder) {
  const std::string made = folder + "/" + new_lock_name;
  const int lock = open(made.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (lock < 0) return -1;
  if (flock(lock, LOCK_EX | LOCK_NB) == 0 &&
      rename(made.c_str(), (folder + "/" + lock_name).c_str()) == 0) {
    return lock;
  }
  close(lock);
  unlink(made.c_str());
  return -1;
}

// Removes what killed processes of this user left.
void remove_leftovers(const std::string& where, std::string_view prefix) {
  const Folder place = opened(open(where.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!place) return;
  const int in = dirfd(place.get());
  for (int looked = 0; looked < most_looked_at; ++looked) {
    const dirent* entry = readdir(place.get());
    if (!entry) return;
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix) || name.size() != prefix.size() + random_characters) continue;
    const int folder = open_folder(in, entry->d_name);
    if (folder < 0) continue;
    struct stat status {};
    const bool ours = fstat(folder, &status) == 0 && status.st_uid == geteuid() &&
                      (status.st_mode & 0777) == 0700;
    const int lock = ours ? openat(folder, lock_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0) {
      empty(folder);
      unlinkat(in, entry->d_name, AT_REMOVEDIR);
    } else if (lock < 0 && ours && time(nullptr) - status.st_mtime > longest_without_lock) {
      // Its process died before it had a lock. A folder that holds anything else stays.
      unlinkat(folder, new_lock_name, 0);
      unlinkat(in, entry->d_name, AT_REMOVEDIR);
    }
    if (lock >= 0) close(lock);
    close(folder);
  }
}

struct All {
  std::mutex mutex;
  std::set<std::string> paths;
};

All& all() {
  static All& folders = *new All;  // never destroyed: some folders go with static objects
  return folders;
}

}  // namespace

std::string TemporaryFolder::place() {
  const char* named = std::getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

TemporaryFolder::TemporaryFolder()
    : TemporaryFolder(place(), "gpuprof-", "set TMPDIR to a folder that may be written to") {}

TemporaryFolder::TemporaryFolder(const std::string& beside)
    : TemporaryFolder(beside, ".gpuprof-", "choose a folder that may be written to") {}

TemporaryFolder::TemporaryFolder(const std::string& where, std::string_view prefix,
                                 const char* hint) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::canonical(where, error);
  path_ = (place / prefix).string() + std::string(random_characters, 'X');
  if (error || !mkdtemp(path_.data())) {
    const int why = error ? error.value() : errno;
    throw Error("no folder can be made in " + where + ": " + std::strerror(why), hint,
                ExitCode::output_failed);
  }
  {
    const std::lock_guard guard(all().mutex);
    all().paths.insert(path_);
  }
  lock_ = make_lock(path_);
  remove_leftovers(place.string(), prefix);
}

TemporaryFolder::~TemporaryFolder() {
  remove_folder(path_);
  if (lock_ >= 0) close(lock_);
  const std::lock_guard guard(all().mutex);
  all().paths.erase(path_);
}

void TemporaryFolder::remove_all() {
  const std::unique_lock guard(all().mutex, std::try_to_lock);
  if (!guard) return;
  for (const std::string& path : all().paths) remove_folder(path);
}

}  // namespace gpuprof
