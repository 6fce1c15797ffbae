#include "libprof/store/file_looks.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <mutex>

namespace gpuprof::store {
namespace {

struct OpenHere {
  int databases = 0;
  std::map<FileIdentity, int> descriptors;  // of the database and of the files next to it
};

struct OpenFiles {
  std::mutex mutex;
  std::map<FileIdentity, OpenHere> by_database;
};

OpenFiles& open_files() {
  static OpenFiles& all = *new OpenFiles;  // never destroyed: databases may outlive static objects
  return all;
}

}  // namespace

std::optional<FileIdentity> FileIdentity::of(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

OpenDatabaseFile::OpenDatabaseFile(const std::string& path) : file_(FileIdentity::of(path)) {
  if (!file_) return;
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  ++all.by_database[*file_].databases;
}

OpenDatabaseFile::~OpenDatabaseFile() {
  if (!file_) return;
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_database.find(*file_);
  if (--found->second.databases > 0) return;
  for (const auto& [file, descriptor] : found->second.descriptors) close(descriptor);
  all.by_database.erase(found);
}

bool look_at_file(const std::string& database, const std::string& suffix,
                  const std::function<void(int)>& use) {
  const std::string path = database + suffix;
  OpenFiles& all = open_files();
  const std::lock_guard lock(all.mutex);
  const auto key = FileIdentity::of(database);
  const auto here = key ? all.by_database.find(*key) : all.by_database.end();
  const bool is_open = here != all.by_database.end();
  if (is_open) {
    const auto file = FileIdentity::of(path);
    const auto& known = here->second.descriptors;
    if (const auto found = file ? known.find(*file) : known.end(); found != known.end()) {
      use(found->second);
      return true;
    }
  }
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return false;
  use(descriptor);
  if (!is_open) {
    close(descriptor);
    return true;
  }
  struct stat status {};
  fstat(descriptor, &status);
  here->second.descriptors.emplace(FileIdentity{status.st_dev, status.st_ino}, descriptor);
  return true;
}

}  // namespace gpuprof::store
