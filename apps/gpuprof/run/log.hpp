// Output of reports and messages: standard error, or the target of --log-file.
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

// Whether text is UTF-8 in the user's locale.
bool has_unicode();
// How many colours a terminal of the user's has: 16 or 256; 0 if they want none.
int colours_of_terminal();

// A log file is created like other new files (libprof/record/output_file.hpp), but replaces an
// earlier log only when the first line, or the first whole report, is written. It replaces only
// logs and empty files.
//
// Reports are for the main thread; messages may come from any thread. SIGPIPE should be ignored, so
// that a reader that goes away ends only the output.
class Log {
 public:
  // Opens the log file, unless its name has %p and no process is known yet (0). Throws NvprofError
  // if it cannot be opened. JSON of a stored profile (`stored`) goes to standard output.
  Log(const Options& options, bool stored, long process_id);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Opens a log file whose name has %p. The target is already running: if the file cannot be
  // opened, a message is printed, standard error is used instead, and lost() is true.
  void open(long process_id);
  bool lost() const { return lost_; }

  // Prints "gpuprof: text".
  void say(std::string_view text);
  // Prints a message about a process of the run. After a number of lines, such messages are
  // omitted, since a run may have many verbose processes.
  void say_of(std::int64_t process_id, std::string_view text);
  // Prints a line with nvprof's prefix. Does nothing for JSON.
  void line(std::string_view text);
  // Prints the requested reports, after warnings with `notes`. If it throws because of the
  // database, its output is taken back as far as possible. Returns false if nobody reads it.
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
  std::unique_ptr<record::OutputFile> file_;  // null: output goes elsewhere
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_{nullptr};
};

}  // namespace gpuprof::app
