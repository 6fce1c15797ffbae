// Where gpuprof's reports and messages go: standard error, or what --log-file names.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/record/output_file.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::app {

// Whether text is UTF-8, by the user's locale.
bool has_unicode();

// A log file is made as other new files are (libprof/record/output_file.hpp), but takes the place
// of an earlier log when the first line, or the first report as a whole, is written. It replaces
// logs and empty files, and nothing else.
//
// Reports belong to the main thread; messages may come from any. SIGPIPE should be ignored: a
// reader that goes away ends the writing and nothing else.
class Log {
 public:
  // Opens the log file, unless its name has %p and no process is known yet (0). Throws NvprofError
  // when it cannot be opened. JSON of a stored profile goes to standard output (`stored`).
  Log(const Options& options, bool stored, long process_id);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // For a name with %p. The program runs by now: when the file cannot be opened that is said,
  // standard error takes its place, and lost() is true.
  void open(long process_id);
  bool lost() const { return lost_; }

  // "gpuprof: text".
  void say(std::string_view text);
  // The same about a process of the run. A run may have many processes that say much: from some
  // number of lines on, they are left out.
  void say_of(std::int64_t process_id, std::string_view text);
  // A line as nvprof has them, with its prefix. Nothing in JSON.
  void line(std::string_view text);
  // The reports that the options ask for, after warnings of what `notes` say. When it throws for
  // the database's sake, what it wrote is taken back as far as it can be. False: nobody reads it.
  bool report(store::Database& database, const std::string& prefix,
              const std::vector<std::string>& notes = {});

 private:
  void open_file(long process_id);
  void place();
  void use(int descriptor, bool own);
  void write_line(std::string_view text);

  class Buffer;
  const Options& options_;
  bool stored_;
  std::mutex mutex_;  // guards the next
  int told_of_processes_ = 0;
  bool lost_ = false;
  std::unique_ptr<record::OutputFile> file_;  // null: it goes elsewhere
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_{nullptr};
};

}  // namespace gpuprof::app
