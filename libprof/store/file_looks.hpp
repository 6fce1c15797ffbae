// Looks at database files that cost this process none of its locks.
//
// When a process closes a descriptor of a file, it loses all its locks on that file, including
// those that SQLite took through another descriptor. Other processes then take the database for
// unused: they delete its log, or shorten the log's index, which SQLite has mapped here. A look at
// a file that is open here therefore leaves its descriptor open, and later looks use it again.
#pragma once

#include <sys/types.h>

#include <compare>
#include <functional>
#include <optional>
#include <string>

namespace gpuprof::store {

// Identifies a file, whatever its path.
struct FileIdentity {
  dev_t device = 0;
  ino_t number = 0;
  auto operator<=>(const FileIdentity&) const = default;

  // nullopt: there is no such file.
  static std::optional<FileIdentity> of(const std::string& path);
};

// A database is open in this process for as long as one of these exists. Thread-safe.
class OpenDatabaseFile {
 public:
  // `path` of the database. Does nothing for one without a file.
  explicit OpenDatabaseFile(const std::string& path);
  ~OpenDatabaseFile();
  OpenDatabaseFile(const OpenDatabaseFile&) = delete;
  OpenDatabaseFile& operator=(const OpenDatabaseFile&) = delete;

 private:
  std::optional<FileIdentity> file_;
};

// Calls `use` with a descriptor for reading `database` + `suffix`, which is the database or a file
// next to it. Returns false with errno set, and does not call, if it cannot be opened. Does not
// wait for a writer to open a FIFO. Thread-safe; `use` must not look or open a database.
bool look_at_file(const std::string& database, const std::string& suffix,
                  const std::function<void(int)>& use);

}  // namespace gpuprof::store
