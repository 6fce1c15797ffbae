// Files of other tools that a profile becomes.
//
// A new format: a file that defines it, and a line in formats.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/export/activities.hpp"
#include "libprof/export/text_file.hpp"
#include "libprof/read/counters.hpp"

namespace gpuprof::exporting {

// Writes one file. Gets all activities in their order, then values over time where the format has
// those, then finish(). The file and the names outlive it. Activities come on a thread of their
// own, while others are read: of the names only those of devices, contexts, streams and threads may
// be asked for then.
class FormatWriter {
 public:
  virtual ~FormatWriter() = default;
  virtual void add(const Activity& activity) = 0;
  virtual void add(const reading::Counter&, std::int64_t /*time*/, double /*value*/) {}
  virtual void finish() = 0;
};

struct FileJob {
  std::string path;  // of an empty file
  std::string name;  // as messages call it
  reading::Window window;
  std::vector<std::int64_t> processes;  // empty: all
};

struct FileFormat {
  std::string_view name;    // of --format
  std::string_view ending;  // ".json"
  std::string_view begins;  // with what each file of it begins, so that -f knows it again
  // Looks closer where that says too little.
  bool (*is_one)(const std::string& path) = nullptr;
  std::string_view help;
  bool counters = false;  // it has values over time
  const char* gzip = "";  // the comment in the header of a deflated file; empty: it is not
  std::unique_ptr<FormatWriter> (*make)(TextFile& file, reading::Profile& profile) = nullptr;
  // In place of `make`: for files that are not written from their beginning to their end.
  Visited (*write)(reading::Profile& profile, const FileJob& job) = nullptr;
};

std::span<const FileFormat* const> file_formats();
const FileFormat* find_format(std::string_view name);          // nullptr: there is none
const FileFormat* format_of_file(std::string_view file_name);  // by the longest ending

struct ExportOptions {
  reading::Filter filter = {};
  std::vector<std::int64_t> processes = {};  // empty: all
  std::string name = {};                     // as messages call the new file
};

// Writes into `path`, which is an empty file. Throws gpuprof::Error; `stop` ends it with a
// DatabaseError (interrupted).
Visited write_format(store::Database& source, const std::string& path, const FileFormat& format,
                     const ExportOptions& options,
                     const std::function<void(std::string_view)>& progress,
                     const std::function<bool()>& stop);

}  // namespace gpuprof::exporting
