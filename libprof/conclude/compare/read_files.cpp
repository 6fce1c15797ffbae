#include "libprof/conclude/compare/read_files.hpp"

#include <atomic>
#include <filesystem>
#include <future>
#include <iterator>
#include <system_error>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/conclude/compare/runs_file.hpp"
#include "libprof/conclude/compare/small_file.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::compare {
namespace {

struct ReadFile {
  std::vector<Run> runs = {};
  std::vector<std::string> notes = {};
  bool damaged = false;
};

ReadFile read_file(const std::string& path, const FileReading& how) {
  if (is_json_file(path)) return {.runs = read_runs_file(path)};
  reading::ProfileFile file(path);
  Run run;
  file.read(
      [&](store::Database& database) {
        database.watch(how.is_interrupted);
        run = read_run(database, how.window, [&] {
          how.show("reading " + path);
          database.check_watch();
        });
      },
      how.show);
  if (!run.has_work()) {
    const bool is_part = how.window.from.given() || how.window.to.given();
    throw Error(path + " has no GPU work with times" + (is_part ? " there" : ""),
                "gpuprof info says what is in it", ExitCode::import_failed);
  }
  run.file = path;
  return {.runs = {std::move(run)}, .notes = file.notes(), .damaged = file.damaged()};
}

// A process must not open a file twice at a time (ProfileFile).
bool are_two_files(const std::string& a, const std::string& b) {
  std::error_code error;
  return !std::filesystem::equivalent(a, b, error) && !error;
}

}  // namespace

bool read_files(const std::vector<FileOfRuns>& files, const FileReading& how) {
  std::atomic<bool> is_over = false;
  FileReading elsewhere{.window = how.window,
                        .is_interrupted = [&] { return is_over || how.is_interrupted(); }};
  std::future<ReadFile> next;  // is waited for when it is destroyed
  struct End {
    std::atomic<bool>& is_over;
    ~End() { is_over = true; }
  } end_before_waiting{is_over};
  for (std::size_t i = 0; i < files.size(); ++i) {
    std::future<ReadFile> own = std::exchange(next, {});
    if (!own.valid() && i + 1 < files.size() && are_two_files(files[i].path, files[i + 1].path)) {
      try {
        next = std::async(std::launch::async, read_file, files[i + 1].path, elsewhere);
      } catch (const std::system_error&) {
        // This thread reads it.
      }
    }
    ReadFile read = own.valid() ? own.get() : read_file(files[i].path, how);
    std::ranges::move(read.runs, std::back_inserter(*files[i].runs));
    for (const std::string& note : read.notes) how.tell(note);
    if (read.damaged) return false;
  }
  return true;
}

}  // namespace gpuprof::compare
