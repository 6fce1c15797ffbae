#include "libprof/store/profile_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <utility>

#include "libprof/store/rescue.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/session.hpp"

namespace gpuprof::store {
namespace {

constexpr std::string_view kind_prefix = "CUPTI_ACTIVITY_KIND_";
constexpr int oldest_version = 8;

// The beginning of a database file, as SQLite's file format has it.
constexpr std::size_t header_size = 100;
using Header = std::array<unsigned char, header_size>;

bool starts_with(const Header& header, std::string_view bytes) {
  return std::memcmp(header.data(), bytes.data(), bytes.size()) == 0;
}

std::int64_t big_endian(const Header& header, std::size_t at, std::size_t bytes) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | header[at + i];
  return value;
}

bool in_log_mode(const Header& header) { return header[18] == 2 || header[19] == 2; }

// What the file should have at least; 0: its header does not tell.
std::int64_t size_in_header(const Header& header) {
  const std::int64_t page = big_endian(header, 16, 2) == 1 ? 65'536 : big_endian(header, 16, 2);
  const bool valid = big_endian(header, 24, 4) == big_endian(header, 92, 4);
  return valid ? page * big_endian(header, 28, 4) : 0;
}

std::int64_t file_size(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 ? status.st_size : -1;
}

// Whether some process has a database with a write-ahead log open.
bool log_in_use(const std::string& path) {
  const int file = open((path + "-shm").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  constexpr int users = 128;  // each has a shared lock on this byte
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_start = users;
  lock.l_len = 1;
  const bool asked = fcntl(file, F_GETLK, &lock) == 0;
  close(file);
  return asked && lock.l_type != F_UNLCK;
}

// What reports cannot do without: table, columns.
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

std::set<std::string, std::less<>> columns_of(Database& database, std::string_view table) {
  std::set<std::string, std::less<>> names;
  auto columns = database.prepare("SELECT name FROM pragma_table_info(?1)");
  columns.bind(1, table);
  while (columns.step()) names.emplace(columns.text(0));
  return names;
}

// Columns that the schema has and the tables do not. What reads them finds NULL.
void add_missing_columns(Database& database) {
  for (const schema::KindRef& kind : schema::kinds) {
    database.execute(schema::create_table_sql(*kind.table));  // if it is missing
    const std::string table(kind.table->name);
    const std::set<std::string, std::less<>> there = columns_of(database, table);
    if (database.text("SELECT type FROM sqlite_master WHERE name = '" + table + "'") == "view") {
      continue;  // nobody reads it
    }
    for (const schema::Column& column : kind.table->columns) {
      if (there.contains(column.name)) continue;
      database.execute("ALTER TABLE " + table + " ADD COLUMN " + quoted_name(column.name));
    }
  }
}

// A value of a table that may be missing, damaged or of somebody else's making.
std::optional<std::string> try_text(Database& database, const std::string& sql) {
  try {
    return database.text(sql);
  } catch (const DatabaseError&) {
    return std::nullopt;
  }
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < most; ++i) text += (i ? ", " : "") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

// What was lost, a sentence each.
std::vector<std::string> sentences(const std::vector<Loss>& losses) {
  std::vector<std::string> lines, ends, gone;
  for (const Loss& loss : losses) {
    if (loss.rows > 0) {
      lines.push_back(std::to_string(loss.rows) + (loss.rows == 1 ? " row" : " rows") + " of " +
                      loss.table + " cannot be read.");
    }
    if (loss.open_ended) (loss.last_id > 0 ? ends : gone).push_back(loss.table);
  }
  if (!ends.empty()) lines.push_back("The end is missing of " + listed(ends) + ".");
  if (!gone.empty()) lines.push_back("Nothing can be read of " + listed(gone) + ".");
  return lines;
}

}  // namespace

class ProfileFile::TemporaryFolder {
 public:
  TemporaryFolder() {
    const char* temporary = std::getenv("TMPDIR");
    path_ = std::string(temporary && *temporary ? temporary : "/tmp") + "/gpuprof-XXXXXX";
    if (!mkdtemp(path_.data())) {
      throw Error("no temporary folder at " + path_ + ": " + std::strerror(errno), "set TMPDIR",
                  ExitCode::output_failed);
    }
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file() const { return path_ + "/profile.sqlite"; }

 private:
  std::string path_;
};

ProfileFile::ProfileFile(std::string path) : path_(std::move(path)) {
  if (!look_at_header()) return;
  for (bool done = false; !done;) {
    try {
      open();
      identify();
      done = true;
    } catch (const DatabaseError& error) {
      database_.reset();
      if (error.kind() == DatabaseError::Kind::unfinished && !folder_) {
        make_rolled_back_copy();
        done = problem_.has_value();
      } else if (error.damaged() && !damaged_) {
        damaged_ = true;
      } else {
        fail(error.damaged() ? path_ + ": damaged, not even the list of its tables can be read"
                             : error.what(),
             error.hint());
        done = true;
      }
    }
  }
}

ProfileFile::~ProfileFile() = default;

void ProfileFile::fail(std::string message, std::string hint) {
  problem_.emplace(std::move(message), std::move(hint), ExitCode::import_failed);
}

// False: it is no database.
bool ProfileFile::look_at_header() {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0) {
    fail(path_ + ": " + std::strerror(errno));
    return false;
  }
  size_ = status.st_size;
  log_size_ = std::max<std::int64_t>(0, file_size(path_ + "-wal"));
  if (S_ISDIR(status.st_mode)) {
    fail(path_ + " is a folder, not a profile", "name a file in it");
  } else if (!S_ISREG(status.st_mode)) {
    fail(path_ + " is no ordinary file", "a profile cannot be read from a pipe or device");
  } else if (size_ == 0 && log_size_ == 0) {
    fail(path_ + " is empty", "its writer stored nothing, or a copy of it failed");
  }
  if (problem_) return false;

  Header header{};
  const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    fail(path_ + ": " + std::strerror(errno), "check that you may read it");
    return false;
  }
  const auto bytes = pread(file, header.data(), header.size(), 0);
  close(file);
  if (size_ > 0 && !starts_with(header, {"SQLite format 3\0", 16})) {
    if (starts_with(header, "gpcap\r\n\x1a")) {
      fail(path_ + " is a capture, not a database",
           "gpuprof replay " + path_ + " -o FILE makes a profile of it");
    } else if (starts_with(header, "\x1f\x8b") || starts_with(header, "\x28\xb5\x2f\xfd")) {
      fail(path_ + " is compressed", "unpack it first");
    } else {
      fail(path_ + " is not an SQLite database", "name a file made by gpuprof -o or nvprof -o");
    }
    return false;
  }
  if (size_ > 0 && bytes < static_cast<ssize_t>(header_size)) {
    fail(path_ + " is truncated: nothing but a part of the header is there");
    return false;
  }
  if (log_size_ == 0 && size_in_header(header) > size_) {
    missing_bytes_ = size_in_header(header) - size_;
    damaged_ = true;
  }
  in_use_ = log_in_use(path_);
  if (log_size_ > 0 ? file_size(path_ + "-shm") >= 0 : in_use_) {
    mode_ = Database::Mode::read_only;
  } else if (log_size_ > 0) {
    mode_ = Database::Mode::untouched_with_log;
  } else if (in_log_mode(header)) {
    mode_ = Database::Mode::untouched;
  }
  return true;
}

void ProfileFile::open() {
  if (folder_) {
    database_.emplace(folder_->file(), Database::Mode::read_only);
  } else {
    database_.emplace(path_, mode_);
  }
  if (damaged_) database_->read_damaged();
}

// A writer was killed in a transaction. Undoing it changes the file, so that is done to a copy.
void ProfileFile::make_rolled_back_copy() {
  try {
    folder_ = std::make_unique<TemporaryFolder>();
    for (const char* suffix : {"", "-journal"}) {
      std::filesystem::copy_file(path_ + suffix, folder_->file() + suffix);
    }
    Database(folder_->file(), Database::Mode::read_write).integer("PRAGMA user_version");
  } catch (const std::filesystem::filesystem_error& error) {
    fail(path_ + ": a writer was ended in a transaction, and there is no room for a copy: " +
             error.code().message(),
         "set TMPDIR to a folder with more room");
  }
  notes_.push_back(
      path_ + ": a writer was ended in the middle of a transaction. This is the state before.");
}

void ProfileFile::identify() {
  std::set<std::string, std::less<>> names;
  std::size_t kinds = 0;
  const std::vector<SchemaObject> objects = read_schema(*database_);
  for (const SchemaObject& object : objects) {
    if (object.type != "table" && object.type != "view") continue;
    kinds += object.type == "table" && object.name.starts_with(kind_prefix);
    names.insert(object.name);
  }
  const auto has = [&](std::string_view name) { return names.contains(name); };
  if (names.empty() && damaged_) {
    return fail(path_ + ": damaged, not even the list of its tables can be read");
  }

  std::optional<std::string> version;
  if (has("Version")) version = try_text(*database_, "SELECT * FROM Version LIMIT 1");
  if (version) version_ = std::strtoll(version->c_str(), nullptr, 10);
  if (has("RUN") && has("STATISTIC_DOC") && kinds > 0) {
    format_ = Format::gpuprof;
    made_by_ =
        try_text(*database_, "SELECT value FROM RUN WHERE key = 'gpuprof_version'").value_or("");
    unfinished_ =
        try_text(*database_, "SELECT value FROM RUN WHERE key = 'finished'").value_or("1") == "0";
  } else if (!has("Version") && (has("StringIds") || has("ENUM_NSYS_EVENT_TYPE") ||
                                 has("META_DATA_EXPORT") || has("TARGET_INFO_GPU"))) {
    format_ = Format::nsight_systems;
    return fail(path_ + " is an Nsight Systems export, which gpuprof cannot report yet",
                "\"nsys stats " + path_ + "\" prints its reports");
  } else if (kinds > 0) {
    format_ = Format::nvprof;
  } else {
    format_ = Format::other_database;
    return fail(path_ + " is a database, but no profile: it has none of nvprof's tables",
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
  if (unfinished_) {
    notes_.push_back(path_ + (in_use_
                                  ? " is still being written. These are its records so far."
                                  : " was never finished: gpuprof was ended while it wrote. These "
                                    "are the records it had stored."));
  }
}

void ProfileFile::find_missing_columns(const std::vector<SchemaObject>& objects) {
  missing_columns_.clear();
  std::set<std::string, std::less<>> tables;
  for (const SchemaObject& object : objects) {
    if (object.type == "table") tables.insert(object.name);
  }
  for (const auto& [table, needed] : needed_columns()) {
    if (!tables.contains(table)) continue;
    const std::set<std::string, std::less<>> columns = columns_of(*database_, table);
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
    case Format::other_database: return "SQLite database that is no profile";
    case Format::no_database: return "not a database";
  }
  return "";
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
        const std::string_view message = error.what();
        const std::size_t at = message.find("no such ");
        lacking_ = message.substr(at, message.find(" in: ", at) - at);
      } else if (!error.damaged()) {
        throw;
      }
      damaged_ = true;
    }
  }
  make_rescued_copy(progress);
  use(*database_);
}

void ProfileFile::make_rescued_copy(const std::function<void(std::string_view)>& progress) {
  open();
  auto folder = std::make_unique<TemporaryFolder>();
  Database copy(folder->file(), Database::Mode::create);
  const std::vector<Loss> losses = rescue(*database_, copy, [&](std::string_view table) {
    if (progress) progress("rescuing " + std::string(table));
  });
  add_missing_columns(copy);
  for (const auto& [table, column] : missing_columns_) {
    if (table == "StringTable") copy.execute("ALTER TABLE StringTable ADD COLUMN " + column);
  }
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
  database_.reset();
  folder_ = std::move(folder);
  database_.emplace(folder_->file(), Database::Mode::read_only);
}

std::optional<std::int64_t> first_record(Database& database, const std::string& schema) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> times{
      {{"KERNEL", "start"},
       {"CONCURRENT_KERNEL", "start"},
       {"CDP_KERNEL", "start"},
       {"MEMCPY", "start"},
       {"MEMCPY2", "start"},
       {"MEMSET", "start"},
       {"RUNTIME", "start"},
       {"DRIVER", "start"},
       {"MARKER", "timestamp"}}};
  std::optional<std::int64_t> first;
  for (const auto& [kind, column] : times) {
    const std::string table = std::string(kind_prefix).append(kind), time(column);
    auto there = database.prepare("SELECT 1 FROM " + schema + ".sqlite_master t, " +
                                  "pragma_table_info(t.name, ?3) c "
                                  "WHERE t.type = 'table' AND t.name = ?1 AND c.name = ?2");
    if (!there.bind(1, table).bind(2, time).bind(3, schema).step()) continue;
    const auto earliest = database.integer("SELECT min(" + time + ") FROM " + schema + "." + table +
                                           " WHERE " + time + " > 0");
    if (earliest && (!first || *earliest < *first)) first = earliest;
  }
  return first;
}

}  // namespace gpuprof::store
