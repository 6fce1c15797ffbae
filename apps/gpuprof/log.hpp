// Where gpuprof's reports and messages go: standard error, or what --log-file names.
#pragma once

#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>

#include "apps/gpuprof/options.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::app {

// Reports belong to the main thread; messages may come from any.
class Log {
 public:
  // Opens the log file, unless its name has %p and no process is known yet (0). When it cannot be
  // opened that is said, and standard error takes its place. JSON of a stored profile goes to
  // standard output (`stored`).
  Log(const Options& options, bool stored, long process_id);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // For a name with %p.
  void open(long process_id);

  // "gpuprof: text".
  void say(std::string_view text);
  // A line as nvprof has them, with its prefix. Not between the lines of JSON.
  void line(std::string_view text);
  // The reports that the options ask for.
  void report(store::Database& database, const std::string& prefix);

 private:
  void open_file(const std::string& path);
  void use(int descriptor, bool own);

  class Buffer;
  const Options& options_;
  std::mutex mutex_;  // guards the next
  std::unique_ptr<Buffer> buffer_;
  std::ostream stream_{nullptr};
};

}  // namespace gpuprof::app
