// Restricts SQLite's file access to the files of one database.
#pragma once

#include <memory>

namespace gpuprof::store {

// An SQLite VFS that opens one database, its journal and log, and unnamed temporary files. No other
// file is opened, probed or deleted, whatever SQL or a journal says: ATTACH and VACUUM INTO name
// files, and a journal can name a file that SQLite then deletes.
//
// Must outlive the connection that opened a database through it. Belongs to that connection's
// thread.
class ConfinedFiles {
 public:
  // `base`: name of the SQLite VFS that does the work. With `as_long_as_it_says`, a truncated
  // database reads as zeros past its end, up to the length given in its header; otherwise SQLite
  // rejects a truncated file as a whole.
  explicit ConfinedFiles(const char* base, bool as_long_as_it_says = false);
  ~ConfinedFiles();
  ConfinedFiles(const ConfinedFiles&) = delete;
  ConfinedFiles& operator=(const ConfinedFiles&) = delete;

  // The VFS name that a connection uses to open the database, once.
  const char* name() const;
  // Unregisters the name, so that nothing more can be opened by it. Call once the database is open.
  void withdraw();
  // Registers it again until withdraw(): VACUUM opens a temporary database by it.
  void offer();

 private:
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace gpuprof::store
