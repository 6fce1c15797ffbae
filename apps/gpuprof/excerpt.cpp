#include "apps/gpuprof/excerpt.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/gpuprof/progress.hpp"
#include "libprof/base/error.hpp"
#include "libprof/launch/file_name.hpp"
#include "libprof/store/profile_file.hpp"

namespace gpuprof::app {
namespace {

void check_output(const std::string& output, const std::string& input, bool overwrite) {
  struct stat there {};
  struct stat source {};
  if (stat(output.c_str(), &there) != 0) return;
  if (S_ISDIR(there.st_mode)) {
    throw Error(output + " is a folder", "give the name of a file", ExitCode::output_failed);
  }
  if (stat(input.c_str(), &source) == 0 && source.st_dev == there.st_dev &&
      source.st_ino == there.st_ino) {
    throw Error("-o names the file that is read", "choose another name", ExitCode::output_failed);
  }
  if (!overwrite) {
    throw Error(output + " exists", "choose another name, or replace it with -f",
                ExitCode::output_failed);
  }
}

// A file beside the output, of a name that nobody can know before, removed again unless it was
// given the output's name.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(std::string output) : output_(std::move(output)) {}
  ~UnfinishedFile() { remove(); }
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;

  // Anew and empty.
  const std::string& make() {
    remove();
    path_ = output_ + ".part-XXXXXX";
    const int file = mkostemp(path_.data(), O_CLOEXEC);
    if (file < 0) {
      path_.clear();
      throw Error(output_ + ": " + std::strerror(errno),
                  "check that the folder exists and may be written to", ExitCode::output_failed);
    }
    close(file);
    return path_;
  }

  void rename() {
    // Logs of a file that had the name would be taken for this one's.
    for (const char* suffix : {"-wal", "-shm", "-journal"}) unlink((output_ + suffix).c_str());
    if (std::rename(path_.c_str(), output_.c_str()) != 0) {
      throw Error(output_ + ": " + std::strerror(errno), "", ExitCode::output_failed);
    }
    path_.clear();
  }

 private:
  void remove() const {
    if (!path_.empty()) unlink(path_.c_str());
  }

  std::string output_;
  std::string path_;
};

}  // namespace

int write_excerpt(ExcerptJob job) {
  const std::string output = launch::expand_name(job.output, getpid());
  check_output(output, job.input, job.overwrite);
  UnfinishedFile unfinished(output);
  store::ProfileFile file(job.input);
  Progress progress;
  const auto show = [&](std::string_view what) { progress.show(what); };
  exporting::Excerpt excerpt;
  try {
    file.read(
        [&](store::Database& database) {
          if (!job.keep.empty()) job.options.keep = exporting::tables_named(job.keep, database);
          excerpt = exporting::write_excerpt(database, unfinished.make(), job.options, show,
                                             [] { return Progress::interrupted() != 0; });
        },
        show);
  } catch (const store::DatabaseError& error) {
    if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
    return 128 + Progress::interrupted();
  }
  unfinished.rename();
  progress.clear();

  const auto say = [&](const std::string& text) {
    if (!job.quiet) std::fprintf(stderr, "gpuprof: %s\n", text.c_str());
  };
  for (const std::string& note : file.notes()) say(note);
  if (excerpt.without_times > 0) {
    say(std::to_string(excerpt.without_times) +
        " records of GPU work have no times, so they are in no part of it.");
  }
  for (const std::string& name : excerpt.left_out) say(name + " is left out.");
  say(output + ": " + std::to_string(excerpt.kept) + (excerpt.kept == 1 ? " record" : " records") +
      " of " + job.input);
  return file.damaged() ? static_cast<int>(ExitCode::import_failed) : 0;
}

}  // namespace gpuprof::app
