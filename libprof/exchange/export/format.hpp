// Other tools' file formats that a profile can be exported to.
//
// To add a format: a file that defines it, and a line in formats.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/exchange/export/activities.hpp"
#include "libprof/exchange/export/text_file.hpp"
#include "libprof/read/counters.hpp"

namespace gpuprof::exporting {

// Writes one file. Receives all activities in order, then values over time if the format has them,
// then finish(). The file and the names outlive it. Activities arrive on a separate thread, while
// more are being read: during that time only the names of devices, contexts, streams and threads
// may be looked up.
class FormatWriter {
 public:
  virtual ~FormatWriter() = default;
  virtual void add(const Activity& activity) = 0;
  virtual void add(const reading::Counter&, std::int64_t /*time*/, double /*value*/) {}
  virtual void finish() = 0;
};

struct FileJob {
  std::string path;  // of an empty file
  std::string name;  // for messages
  reading::Window window;
  std::vector<std::int64_t> processes;  // empty: all
};

struct FileFormat {
  std::string_view name;    // for --format
  std::string_view ending;  // ".json"
  std::string_view begins;  // what each such file begins with, so that -f recognizes it
  // A closer check, if `begins` is not specific enough.
  bool (*is_one)(const std::string& path) = nullptr;
  std::string_view help;
  std::string_view tool = {};  // for which --for chooses it
  bool counters = false;       // has values over time
  const char* gzip = "";       // comment in the gzip header; empty: not compressed
  std::unique_ptr<FormatWriter> (*make)(TextFile& file, reading::Profile& profile) = nullptr;
  // Instead of `make`: for files that are not written sequentially.
  Visited (*write)(reading::Profile& profile, const FileJob& job) = nullptr;
};

std::span<const FileFormat* const> file_formats();
const FileFormat* find_format(std::string_view name);          // null: there is none
const FileFormat* format_of_file(std::string_view file_name);  // by the longest ending
// Deflated if the file's name ends in .gz.
const FileFormat* format_for_tool(std::string_view tool, std::string_view file_name);

struct ExportOptions {
  reading::Filter filter = {};
  std::vector<std::int64_t> processes = {};  // empty: all
  std::string name = {};                     // the new file's name in messages
};

// Writes into `path`, an empty file. Throws gpuprof::Error; `stop` ends it with a DatabaseError
// (interrupted).
Visited write_format(store::Database& source, const std::string& path, const FileFormat& format,
                     const ExportOptions& options,
                     const std::function<void(std::string_view)>& progress,
                     const std::function<bool()>& stop);

}  // namespace gpuprof::exporting
