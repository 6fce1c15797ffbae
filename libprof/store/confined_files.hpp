// SQLite's way to the files of one database, and to no others.
#pragma once

#include <memory>

namespace gpuprof::store {

// A VFS of SQLite's that opens one database, the journal and the log beside it, and temporary files
// that have no name. No other file is opened, looked for or deleted, whatever SQL or a journal
// says: ATTACH and VACUUM INTO name files, and a journal can name one that SQLite deletes
// afterwards.
//
// Lives at least as long as the connection that opened a database by it. Belongs to that
// connection's thread.
class ConfinedFiles {
 public:
  // `base`: the name of the VFS of SQLite's that does the work. With `as_long_as_it_says` a
  // database that was cut off reads as zeros behind its end, up to the length that its header
  // tells; SQLite refuses a shorter one as a whole.
  explicit ConfinedFiles(const char* base, bool as_long_as_it_says = false);
  ~ConfinedFiles();
  ConfinedFiles(const ConfinedFiles&) = delete;
  ConfinedFiles& operator=(const ConfinedFiles&) = delete;

  // By which a connection opens the database, once.
  const char* name() const;
  // Nothing can be opened by the name any more. To be called when the database is open.
  void withdraw();
  // Until withdraw(): VACUUM opens a temporary database by it.
  void offer();

 private:
  struct Vfs;
  std::unique_ptr<Vfs> vfs_;
};

}  // namespace gpuprof::store
