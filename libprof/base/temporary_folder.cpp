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
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof {
namespace {

// A folder without it was made by somebody else, or is still being made.
constexpr char lock_name[] = "lock";
constexpr char new_lock_name[] = "new-lock";
constexpr std::time_t longest_without_lock = 3600;  // seconds
constexpr std::size_t random_characters = 6;
constexpr std::string_view usual_prefix = "gpuprof-";
constexpr char usual_hint[] = "set TMPDIR to a folder that may be written to";
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
// has none, or the folder is no longer there.
int make_lock(const std::string& path) {
  const int folder = open_folder(AT_FDCWD, path.c_str());
  if (folder < 0) return -1;
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  int lock = openat(folder, new_lock_name, flags, 0600);
  if (lock >= 0 && !(flock(lock, LOCK_EX | LOCK_NB) == 0 &&
                     renameat(folder, new_lock_name, folder, lock_name) == 0)) {
    close(std::exchange(lock, -1));
    unlinkat(folder, new_lock_name, 0);
  }
  close(folder);
  return lock;
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

[[noreturn]] void refuse(const std::string& place, int why, const char* hint) {
  throw Error("no folder can be made in " + place + ": " + std::strerror(why), hint,
              ExitCode::output_failed);
}

}  // namespace

std::string TemporaryFolder::place() {
  const char* named = std::getenv("TMPDIR");
  return named && *named ? named : "/tmp";
}

TemporaryFolder::TemporaryFolder() : TemporaryFolder(place(), usual_prefix, usual_hint) {}

TemporaryFolder::TemporaryFolder(const std::string& beside)
    : TemporaryFolder(beside, ".gpuprof-", "choose a folder that may be written to") {}

TemporaryFolder::TemporaryFolder(const As& as) { make(as.place, usual_prefix, usual_hint); }

TemporaryFolder::TemporaryFolder(const std::string& where, std::string_view prefix,
                                 const char* hint) {
  std::error_code error;
  const std::filesystem::path place = std::filesystem::canonical(where, error);
  if (error) refuse(where, error.value(), hint);
  make(place.string(), prefix, hint);
}

void TemporaryFolder::make(const std::string& place, std::string_view prefix, const char* hint) {
  path_ = (std::filesystem::path(place) / prefix).string() + std::string(random_characters, 'X');
  if (!mkdtemp(path_.data())) refuse(place, errno, hint);
  {
    const std::lock_guard guard(all().mutex);
    all().paths.insert(path_);
  }
  lock_ = make_lock(path_);
  remove_leftovers(place, prefix);
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
