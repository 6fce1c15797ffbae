// A file that is supposedly a profile: what it is, whether it can be read, and how.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

struct Loss;
struct SchemaObject;

enum class Format { gpuprof, nvprof, nsight_systems, other_database, no_database };

// The only code that opens foreign files; everything that reads a profile goes through it. The
// contents are untrusted data: SQL in the file runs under a Guard (libprof/store/guard.hpp), and no
// other file but its log and journal is touched.
//
// Opens for reading only: neither the file nor its folder is changed, unless another process is
// writing to the file and its shared memory must be joined. Belongs to one thread.
class ProfileFile {
 public:
  // Looks at the file's header and sqlite_master. Does not throw for a bad file: see problem().
  explicit ProfileFile(std::string path);
  ~ProfileFile();
  ProfileFile(const ProfileFile&) = delete;
  ProfileFile& operator=(const ProfileFile&) = delete;

  const std::string& path() const { return path_; }
  Format format() const { return format_; }
  bool is_capture() const { return is_capture_; }
  std::string description() const;  // "a profile of nvprof, Version 11"
  std::optional<std::int64_t> version() const { return version_; }  // of nvprof's layout
  std::int64_t size() const { return size_; }                       // -1: there is no file
  std::int64_t log_size() const { return log_size_; }               // of its write-ahead log
  // Whether another process has the file and its log open.
  bool in_use() const { return in_use_; }
  // Whether it was never finished: gpuprof is still at work, or was killed.
  bool unfinished() const { return unfinished_; }
  // Whether pages are missing or corrupt. May only turn out while reading.
  bool damaged() const { return damaged_; }
  // Whether rows may be numbered without gaps: it is one of ours and undamaged.
  bool numbers_records() const { return format() == Format::gpuprof && !damaged(); }

  // Why nothing in it can be reported, with a hint and exit code; nullopt: something can.
  const std::optional<Error>& problem() const { return problem_; }
  // What the reader of a report should know about the file, one sentence each.
  const std::vector<std::string>& notes() const { return notes_; }

  // Calls `use` with the database and, if that runs into damage, again with a copy of what can be
  // read. Throws problem(). `progress` receives what is being copied.
  void read(const std::function<void(store::Database&)>& use,
            const std::function<void(std::string_view)>& progress = {});

  // The database as it is. Throws problem().
  store::Database& database();
  // The same for an Nsight Systems export, of which nothing can be reported. Null: it is none, or
  // damaged.
  store::Database* nsys_export();

 private:
  std::string beside(const char* suffix) const;
  std::string copy_path() const;
  bool look_at_header();
  void look_for_the_end(const std::string& file);
  void open();
  void make_rolled_back_copy();
  void identify();
  void find_missing_columns(const std::vector<SchemaObject>& objects);
  void make_rescued_copy(const std::function<void(std::string_view)>& progress);
  void tell(const std::vector<Loss>& losses);
  void fail(const std::string& message, const std::string& hint = {});

  std::string path_;
  Format format_ = Format::no_database;
  bool is_capture_ = false;
  std::int64_t size_ = -1;
  std::int64_t missing_bytes_ = 0;
  std::int64_t log_size_ = 0;
  bool in_use_ = false;   // it has a log, and another process has it open
  bool written_ = false;  // it has none, and another process is writing to it
  bool unfinished_ = false;
  bool all_stored_ = false;  // it is unfinished, but what it lacks can be computed
  bool damaged_ = false;
  store::Database::Mode mode_ = store::Database::Mode::read_only;
  std::optional<std::int64_t> version_;
  std::string made_by_;                                               // gpuprof version
  std::vector<std::pair<std::string, std::string>> missing_columns_;  // table, column
  std::string lacking_;                                               // what a reader did not find
  std::vector<std::string> notes_;
  std::optional<Error> problem_;
  std::unique_ptr<TemporaryFolder> folder_;  // of a copy
  std::optional<store::Database> database_;
};

}  // namespace gpuprof::reading
