#include "libprof/store/confined_files.hpp"

#include <sqlite3.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/store/file_header.hpp"

namespace gpuprof::store {
namespace {

// The methods of an open file with one replaced. SQLite passes us the file, whose first member
// points here.
struct LongerMethods {
  sqlite3_io_methods methods;
  const sqlite3_io_methods* base;
};

int size_in_header(sqlite3_file* file, sqlite3_int64* size) {
  static_assert(offsetof(LongerMethods, methods) == 0);
  const auto& own = *reinterpret_cast<const LongerMethods*>(file->pMethods);
  const int result = own.base->xFileSize(file, size);
  FileHeader header;
  if (result == SQLITE_OK && *size >= static_cast<sqlite3_int64>(header.bytes.size()) &&
      own.base->xRead(file, header.bytes.data(), static_cast<int>(header.bytes.size()), 0) ==
          SQLITE_OK) {
    *size = std::max<sqlite3_int64>(*size, header.file_size());
  }
  return result;
}

}  // namespace

struct ConfinedFiles::Vfs {
  sqlite3_vfs vfs{};  // first, so that SQLite's pointer to it is also a pointer to this
  sqlite3_vfs* base = nullptr;
  std::string name;
  std::string database;  // the path, once open
  bool opened = false;
  bool registered = false;
  bool longer = false;
  LongerMethods methods{};

  static Vfs& of(sqlite3_vfs* vfs) { return *reinterpret_cast<Vfs*>(vfs); }

  bool is_beside(const char* path) const {
    const std::string_view text(path);
    return opened && text.starts_with(database) &&
           (text.substr(database.size()) == "-journal" || text.substr(database.size()) == "-wal");
  }

  // Whether a file of this type and name may be opened. Temporary files have no name: the base VFS
  // makes one up.
  bool allows(const char* path, int flags) const {
    if (flags & SQLITE_OPEN_MAIN_DB) return path && !opened;
    if (flags & (SQLITE_OPEN_MAIN_JOURNAL | SQLITE_OPEN_WAL)) return path && is_beside(path);
    constexpr int temporary = SQLITE_OPEN_TEMP_DB | SQLITE_OPEN_TRANSIENT_DB |
                              SQLITE_OPEN_TEMP_JOURNAL | SQLITE_OPEN_SUBJOURNAL;
    return !path && (flags & temporary);
  }

  int open(const char* path, sqlite3_file* file, int flags, int* out_flags) {
    file->pMethods = nullptr;
    if (!allows(path, flags)) return SQLITE_CANTOPEN;
    const int result = base->xOpen(base, path, file, flags, out_flags);
    if (result != SQLITE_OK || !(flags & SQLITE_OPEN_MAIN_DB)) return result;
    database = path;
    opened = true;
    if (longer) {
      methods = {.methods = *file->pMethods, .base = file->pMethods};
      methods.methods.xFileSize = size_in_header;
      file->pMethods = &methods.methods;
    }
    return result;
  }

  int access(const char* path, int flags, int* result) const {
    *result = 0;
    const bool ours = opened && (path == database || is_beside(path));
    return ours ? base->xAccess(base, path, flags, result) : SQLITE_OK;
  }
};

ConfinedFiles::ConfinedFiles(const char* base, bool as_long_as_it_says)
    : vfs_(std::make_unique<Vfs>()) {
  static std::atomic<unsigned> count = 0;
  vfs_->base = sqlite3_vfs_find(base);
  if (!vfs_->base) throw Error(std::string("SQLite has no VFS named ") + base);
  vfs_->name = "gpuprof-" + std::to_string(++count);
  vfs_->longer = as_long_as_it_says;
  sqlite3_vfs& vfs = vfs_->vfs;
  vfs.iVersion = 2;
  vfs.szOsFile = vfs_->base->szOsFile;
  vfs.mxPathname = vfs_->base->mxPathname;
  vfs.zName = vfs_->name.c_str();
  vfs.xOpen = [](sqlite3_vfs* self, const char* path, sqlite3_file* file, int flags,
                 int* out_flags) { return Vfs::of(self).open(path, file, flags, out_flags); };
  vfs.xDelete = [](sqlite3_vfs* self, const char* path, int sync) {
    const Vfs& own = Vfs::of(self);
    if (!own.is_beside(path)) return SQLITE_PERM;
    return own.base->xDelete(own.base, path, sync);
  };
  vfs.xAccess = [](sqlite3_vfs* self, const char* path, int flags, int* result) {
    return Vfs::of(self).access(path, flags, result);
  };
  vfs.xFullPathname = [](sqlite3_vfs* self, const char* path, int size, char* out) {
    sqlite3_vfs* own = Vfs::of(self).base;
    return own->xFullPathname(own, path, size, out);
  };
  // Extensions are not supported.
  vfs.xDlOpen = [](sqlite3_vfs*, const char*) -> void* { return nullptr; };
  vfs.xDlError = [](sqlite3_vfs*, int size, char* text) {
    sqlite3_snprintf(size, text, "not supported");
  };
  vfs.xDlSym = [](sqlite3_vfs*, void*, const char*) -> void (*)() { return nullptr; };
  vfs.xDlClose = [](sqlite3_vfs*, void*) {};
  vfs.xRandomness = [](sqlite3_vfs* self, int size, char* out) {
    sqlite3_vfs* own = Vfs::of(self).base;
    return own->xRandomness(own, size, out);
  };
  vfs.xSleep = [](sqlite3_vfs* self, int microseconds) {
    sqlite3_vfs* own = Vfs::of(self).base;
    return own->xSleep(own, microseconds);
  };
  vfs.xCurrentTime = [](sqlite3_vfs* self, double* time) {
    sqlite3_vfs* own = Vfs::of(self).base;
    return own->xCurrentTime(own, time);
  };
  vfs.xGetLastError = [](sqlite3_vfs* self, int size, char* text) {
    sqlite3_vfs* own = Vfs::of(self).base;
    return own->xGetLastError(own, size, text);
  };
  vfs.xCurrentTimeInt64 = [](sqlite3_vfs* self, sqlite3_int64* time) {
    sqlite3_vfs* own = Vfs::of(self).base;
    return own->xCurrentTimeInt64(own, time);
  };
  offer();
}

ConfinedFiles::~ConfinedFiles() { withdraw(); }

const char* ConfinedFiles::name() const { return vfs_->name.c_str(); }

void ConfinedFiles::offer() {
  if (vfs_->registered) return;
  if (sqlite3_vfs_register(&vfs_->vfs, 0) != SQLITE_OK)
    throw Error("SQLite refused to register a VFS");
  vfs_->registered = true;
}

void ConfinedFiles::withdraw() {
  if (!vfs_->registered) return;
  sqlite3_vfs_unregister(&vfs_->vfs);
  vfs_->registered = false;
}

}  // namespace gpuprof::store
