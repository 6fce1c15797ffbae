#include "libprof/read/profile_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/file_header.hpp"
#include "libprof/store/file_looks.hpp"
#include "libprof/wire/format.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/run.hpp"

namespace gpuprof::reading {

using store::Database;
using store::DatabaseError;
using store::FileHeader;

namespace {

constexpr int oldest_version = 8;
constexpr std::string_view copy_name = "profile.sqlite";

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

// Returns the number of bytes read; negative: it cannot be read, see errno.
ssize_t read_header(const std::string& path, FileHeader& header) {
  ssize_t bytes = -1;
  store::look_at_file(path, "", [&](int file) {
    bytes = std::max<ssize_t>(0, pread(file, header.bytes.data(), header.bytes.size(), 0));
  });
  return bytes;
}

// Whether another process has a lock on a byte of the file.
bool is_locked(const std::string& database, const std::string& suffix, off_t byte) {
  bool locked = false;
  store::look_at_file(database, suffix, [&](int file) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_start = byte;
    lock.l_len = 1;
    locked = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  });
  return locked;
}

// Whether another process has a database with a write-ahead log open: each user locks this byte of
// the shared memory file.
bool log_in_use(const std::string& database) { return is_locked(database, "-shm", 128); }

// Whether another process is writing to a database without a log: it holds SQLite's RESERVED lock.
bool is_written(const std::string& database) { return is_locked(database, "", 0x40000001); }

// Columns that reports require, by table.
std::vector<std::pair<std::string, std::set<std::string>>> needed_columns() {
  std::vector<std::pair<std::string, std::set<std::string>>> needed{
      {"StringTable", {"_id_", "value"}},
      {"CUPTI_ACTIVITY_KIND_DEVICE", {"id", "name"}},
      {"CUPTI_ACTIVITY_KIND_NAME", {"objectKind", "objectId", "name"}},
  };
  for (const schema::KindRef& kind : schema::kinds) {
    std::set<std::string> times;
    for (const std::string_view time : {"start", "end", "timestamp"}) {
      if (schema::has_column(*kind.table, time)) times.emplace(time);
    }
    if (!times.empty()) needed.emplace_back(kind.table->name, std::move(times));
  }
  return needed;
}

using NameSet = std::set<std::string, NameLess>;

NameSet columns_of(Database& database, std::string_view table) {
  NameSet names;
  for (Database::Column& column : database.columns(table)) names.insert(std::move(column.name));
  return names;
}

// A value from a table that may be missing, damaged or foreign.
std::optional<std::string> try_text(Database& database, const std::string& sql) {
  try {
    return database.text(sql);
  } catch (const DatabaseError& error) {
    if (error.kind() == DatabaseError::Kind::refused) throw;
    return std::nullopt;
  }
}

// "no such table: RUN".
std::string what_is_missing(const DatabaseError& error) {
  const std::string_view message = error.what();
  const std::size_t at = std::min(message.find("no such "), message.size());
  return std::string(message.substr(at, message.find(" in: ", at) - at));
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

// What was lost, one sentence each.
std::vector<std::string> sentences(const std::vector<Loss>& losses) {
  std::vector<std::string> lines, ends, gone;
  for (const Loss& loss : losses) {
    if (loss.rows > 0) {
      lines.push_back(count_of(loss.rows, "row") + " of " + loss.table + " cannot be read.");
    }
    if (loss.open_ended) (loss.last_id > 0 ? ends : gone).push_back(loss.table);
  }
  if (!ends.empty()) lines.push_back("The end is missing of " + listed(ends) + ".");
  if (!gone.empty()) lines.push_back("Nothing can be read of " + listed(gone) + ".");
  return lines;
}

}  // namespace

ProfileFile::ProfileFile(std::string path) : path_(std::move(path)) {
  if (!look_at_header()) return;
  while (!problem_) {
    try {
      open();
      identify();
      return;
    } catch (const DatabaseError& error) {
      database_.reset();
      if (error.kind() == DatabaseError::Kind::unfinished && !folder_) {
        make_rolled_back_copy();
      } else if (error.damaged() && !damaged_) {
        damaged_ = true;
      } else {
        fail(error.damaged() ? path_ + ": damaged, not even the list of its tables can be read"
                             : error.what(),
             error.hint());
      }
    }
  }
}

ProfileFile::~ProfileFile() = default;

void ProfileFile::fail(const std::string& message, const std::string& hint) {
  problem_.emplace(message, hint, ExitCode::import_failed);
}

// Path of the file's log or journal. SQLite looks for them next to a symbolic link's target.
std::string ProfileFile::beside(const char* suffix) const {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path_, failed);
  return (failed ? path_ : real.string()) + suffix;
}

std::string ProfileFile::copy_path() const { return *folder_ / copy_name; }

// False: not a database.
bool ProfileFile::look_at_header() {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) {
    fail(path_ + ": " + std::strerror(errno));
    return false;
  }
  size_ = status.st_size;
  log_size_ = std::max<std::int64_t>(0, file_size(beside("-wal")));
  if (S_ISDIR(status.st_mode)) {
    fail(path_ + " is a folder, not a profile", "name a file in it");
  } else if (!S_ISREG(status.st_mode)) {
    fail(path_ + " is not a regular file", "a profile cannot be read from a pipe or device");
  } else if (size_ == 0 && log_size_ == 0) {
    fail(path_ + " is empty", "its writer stored nothing, or a copy of it failed");
  }
  if (problem_) return false;

  FileHeader header;
  const auto bytes = read_header(path_, header);
  if (bytes < 0) {
    fail(path_ + ": " + std::strerror(errno), "check that you may read it");
    return false;
  }
  if (size_ > 0 && !header.starts_with({"SQLite format 3\0", 16})) {
    is_capture_ = header.starts_with(wire::capture_magic);
    if (is_capture_) {
      fail(path_ + " is a capture, not a database",
           "gpuprof replay " + path_ + " -o FILE makes a profile of it");
    } else if (header.starts_with("\x1f\x8b") || header.starts_with("\x28\xb5\x2f\xfd")) {
      fail(path_ + " is compressed", "unpack it first");
    } else {
      fail(path_ + " is not an SQLite database", "name a file made by gpuprof -o or nvprof -o");
    }
    return false;
  }
  if (size_ > 0 && bytes < static_cast<ssize_t>(header.bytes.size())) {
    fail(path_ + " is truncated: nothing but a part of the header is there");
    return false;
  }
  // A journal or log may hold what the file itself does not.
  if (log_size_ == 0 && file_size(beside("-journal")) <= 0) look_for_the_end(path_);
  in_use_ = log_in_use(beside(""));
  written_ = is_written(path_);
  if (log_size_ > 0 ? file_size(beside("-shm")) >= 0 : in_use_) {
    mode_ = Database::Mode::read_only;
  } else if (log_size_ > 0) {
    mode_ = Database::Mode::untouched_with_log;
  } else if (header.in_log_mode()) {
    mode_ = Database::Mode::untouched;
  }
  return true;
}

// Checks whether the file, or a copy of it, is as long as its header says.
void ProfileFile::look_for_the_end(const std::string& file) {
  FileHeader header;
  if (read_header(file, header) < static_cast<ssize_t>(header.bytes.size())) return;
  missing_bytes_ = std::max<std::int64_t>(0, header.file_size() - file_size(file));
  damaged_ |= missing_bytes_ > 0;
}

void ProfileFile::open() {
  database_.emplace(folder_ ? copy_path() : path_, folder_ ? Database::Mode::read_only : mode_,
                    Database::Options{.shown_as = path_, .damaged = damaged_});
}

// A writer was killed in a transaction. Rolling back changes the file, so it is done on a copy.
void ProfileFile::make_rolled_back_copy() {
  try {
    folder_ = std::make_unique<TemporaryFolder>();
    for (const char* suffix : {"", "-journal"}) {
      const std::string from = *suffix ? beside(suffix) : path_;
      std::filesystem::copy_file(from, copy_path() + suffix);
    }
    Database(copy_path(), Database::Mode::roll_back, {.shown_as = path_})
        .integer("PRAGMA user_version");
    notes_.push_back(
        path_ + ": a writer was ended in the middle of a transaction. This is the state before.");
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(path_ +
                    ": its writer ended during a transaction, and there is no room for a copy: " +
                    error.code().message(),
                "set TMPDIR to a folder with more room");
  } catch (const DatabaseError& error) {
    if (!error.damaged()) return fail(error.what(), error.hint());
    damaged_ = true;
  }
  look_for_the_end(copy_path());
}

void ProfileFile::identify() {
  NameSet names;
  std::size_t kinds = 0;
  const std::vector<SchemaObject> objects = read_schema(*database_);
  for (const SchemaObject& object : objects) {
    if (object.type != "table" && object.type != "view") continue;
    kinds += object.type == "table" && name_starts_with(object.name, kind_prefix);
    names.insert(object.name);
  }
  const auto has = [&](std::string_view name) { return names.contains(name); };
  if (names.empty() && damaged_) {
    return fail(path_ + ": damaged, not even the list of its tables can be read");
  }

  std::optional<std::string> version;
  if (has("Version")) version = try_text(*database_, "SELECT * FROM Version LIMIT 1");
  if (version) version_ = std::strtoll(version->c_str(), nullptr, 10);
  // sqlite_master may be truncated.
  const bool marked =
      database_->integer("PRAGMA application_id").value_or(0) == schema::application_id;
  if ((marked || (has("RUN") && has("STATISTIC_DOC"))) && kinds > 0) {
    format_ = Format::gpuprof;
    made_by_ =
        try_text(*database_, "SELECT value FROM RUN WHERE key = 'gpuprof_version'").value_or("");
    unfinished_ =
        try_text(*database_, "SELECT value FROM RUN WHERE key = 'finished'").value_or("1") == "0";
    all_stored_ =
        try_text(*database_, "SELECT value FROM RUN WHERE key = 'not_computed'").has_value();
  } else if (!has("Version") && (has("StringIds") || has("ENUM_NSYS_EVENT_TYPE") ||
                                 has("META_DATA_EXPORT") || has("TARGET_INFO_GPU"))) {
    format_ = Format::nsight_systems;
    if (damaged_) return fail(path_ + " is an Nsight Systems export, and damaged");
    return fail(path_ + " is an Nsight Systems export, not a profile of gpuprof or nvprof",
                "gpuprof import " + path_ + " -o FILE makes a profile of it");
  } else if (kinds > 0) {
    format_ = Format::nvprof;
  } else {
    format_ = Format::other_database;
    return fail(path_ + " is a database, but not a profile: it has none of nvprof's tables",
                "name a file made by gpuprof -o or nvprof -o");
  }
  if (version_ && (*version_ < oldest_version || *version_ > schema::nvprof_version)) {
    return fail(path_ + " has tables of nvprof's Version " + std::to_string(*version_) +
                    "; gpuprof reads " + std::to_string(oldest_version) + " to " +
                    std::to_string(schema::nvprof_version),
                *version_ > schema::nvprof_version ? "a newer gpuprof may read it"
                                                   : "the nvprof that wrote it may read it");
  }
  find_missing_columns(objects);
  if (!version_ && !damaged_) {
    notes_.push_back(path_ + " does not say its Version. Columns are read by their names.");
  }
  if (!has("StringTable") && !damaged_)
    notes_.push_back(path_ + " has no StringTable. Names are missing.");
  if (unfinished_ && all_stored_) {
    notes_.push_back(path_ +
                     " was not finished: Ctrl-C ended gpuprof before it had computed all. All "
                     "records are there; gpuprof finish computes the rest.");
  } else if (unfinished_) {
    notes_.push_back(path_ + (in_use_ || written_
                                  ? " is still being written. These are its records so far."
                                  : " was never finished: gpuprof was ended while it wrote. These "
                                    "are the records it had stored."));
  }
}

void ProfileFile::find_missing_columns(const std::vector<SchemaObject>& objects) {
  missing_columns_.clear();
  NameSet tables;
  for (const SchemaObject& object : objects) {
    if (object.type == "table") tables.insert(object.name);
  }
  for (const auto& [table, needed] : needed_columns()) {
    if (!tables.contains(table)) continue;
    const NameSet columns = columns_of(*database_, table);
    if (columns.empty()) continue;  // the file is too damaged to tell
    for (const std::string& column : needed) {
      if (!columns.contains(column)) missing_columns_.emplace_back(table, column);
    }
  }
  if (!missing_columns_.empty()) damaged_ = true;
}

std::string ProfileFile::description() const {
  const std::string version = version_ ? "Version " + std::to_string(*version_) : "no Version";
  switch (format_) {
    case Format::gpuprof:
      return "profile of gpuprof" + (made_by_.empty() ? "" : " " + made_by_) + " (" + version + ")";
    case Format::nvprof: return "profile of nvprof (" + version + ")";
    case Format::nsight_systems: return "Nsight Systems export";
    case Format::other_database: return "SQLite database that is not a profile";
    case Format::no_database: return "not a database";
  }
  return "";
}

Database* ProfileFile::nsys_export() {
  return format_ == Format::nsight_systems && !damaged_ ? &*database_ : nullptr;
}

Database& ProfileFile::database() {
  if (problem_) throw *problem_;
  return *database_;
}

void ProfileFile::read(const std::function<void(Database&)>& use,
                       const std::function<void(std::string_view)>& progress) {
  database();
  if (!damaged_) {
    try {
      return use(*database_);
    } catch (const DatabaseError& error) {
      if (error.kind() == DatabaseError::Kind::missing) {
        lacking_ = what_is_missing(error);
      } else if (!error.damaged()) {
        throw;
      }
      damaged_ = true;
    }
  }
  make_rescued_copy(progress);
  try {
    use(*database_);
  } catch (const DatabaseError& error) {
    if (error.kind() != DatabaseError::Kind::missing) throw;
    throw Error(path_ + " is incomplete: " + what_is_missing(error),
                "it lacks more than gpuprof can do without", ExitCode::import_failed);
  }
}

void ProfileFile::make_rescued_copy(const std::function<void(std::string_view)>& progress) {
  open();
  auto folder = std::make_unique<TemporaryFolder>();
  {
    Database copy(*folder / copy_name, Database::Mode::create, {.shown_as = path_});
    const std::vector<Loss> losses =
        rescue(*database_, copy, format_ == Format::gpuprof, [&](std::string_view table) {
          if (progress) progress("rescuing " + std::string(table));
        });
    tell(losses);
  }
  database_.reset();
  folder_ = std::move(folder);
  database_.emplace(copy_path(), Database::Mode::read_only, Database::Options{.shown_as = path_});
}

void ProfileFile::tell(const std::vector<Loss>& losses) {
  if (missing_bytes_ > 0) {
    notes_.push_back(path_ + " is truncated: " + std::to_string(missing_bytes_) + " of " +
                     std::to_string(size_ + missing_bytes_) + " bytes are missing.");
  } else if (missing_columns_.empty()) {
    notes_.push_back(path_ +
                     (lacking_.empty() ? " is damaged." : " is incomplete: " + lacking_ + "."));
  }
  for (const auto& [table, column] : missing_columns_) {
    notes_.push_back(table + " has no column " + column + ".");
  }
  for (std::string& sentence : sentences(losses)) notes_.push_back(std::move(sentence));
}

}  // namespace gpuprof::reading
