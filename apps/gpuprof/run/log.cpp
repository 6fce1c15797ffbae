#include "apps/gpuprof/run/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/gpuprof/command/standard_output.hpp"
#include "libprof/base/descriptor_buffer.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/report/log_file.hpp"
#include "libprof/report/report.hpp"
#include "libprof/terminal/overview.hpp"

namespace gpuprof::app {
namespace {

// These names mean our own descriptor: reopening it would write a redirected file from its
// beginning.
int standard_descriptor(const std::string& file) {
  if (file == "%1" || file == "/dev/stdout") return 1;
  return file == "%2" || file == "/dev/stderr" ? 2 : 0;
}

[[noreturn]] void cannot_open(const std::string& path, const std::string& why) {
  throw NvprofError{{"Error: can't open log file \"" + printable(path) + "\": " + why},
                    ExitCode::output_failed};
}

// Opens a terminal or a pipe, which have no contents to lose, or a link to one.
int open_channel(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
  if (file < 0) cannot_open(path, std::strerror(errno));
  struct stat status {};
  if (fstat(file, &status) == 0 && (S_ISCHR(status.st_mode) || S_ISFIFO(status.st_mode))) {
    return file;
  }
  close(file);
  cannot_open(path, S_ISREG(status.st_mode) ? "it is a link to a file" : "it is not a file");
}

// Whether the output is a document for programs, which must not contain anything else.
bool wants_document(const Options& options) {
  return options.reports.layout == report::Layout::json ||
         options.reports.layout == report::Layout::plain_csv;
}

}  // namespace

bool has_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    const std::string_view locale(value);
    return locale.find("UTF-8") != locale.npos || locale.find("utf8") != locale.npos ||
           locale.find("UTF8") != locale.npos || locale.find("utf-8") != locale.npos;
  }
  return false;
}

int colours_of_terminal() {
  const char* type = std::getenv("TERM");
  const std::string_view name(type ? type : "");
  if (std::getenv("NO_COLOR") || name == "dumb") return 0;
  return name.find("256color") != name.npos ? 256 : 16;
}

// Buffered, unlike std::cerr, since a trace has millions of lines.
class Log::Buffer : public DescriptorBuffer {
 public:
  Buffer(int descriptor, bool own) : DescriptorBuffer(descriptor), own_(own) {}
  ~Buffer() override {
    sync();
    if (own_) close(descriptor_);
  }

  bool own() const { return own_; }
  bool terminal() const { return isatty(descriptor_) == 1; }
  std::size_t columns() const { return terminal_width(descriptor_); }

  // take_back() undoes what is written from here on. The buffer is then empty.
  void mark() {
    sync();
    written_ = 0;
  }
  // Returns false if some of the output cannot be taken back.
  bool take_back() {
    empty();
    if (written_ == 0) return true;
    if (!own_) return false;
    const off_t end = lseek(descriptor_, -written_, SEEK_CUR);
    return end >= 0 && ftruncate(descriptor_, end) == 0;
  }

 private:
  bool own_;
};

Log::Log(const Options& options, bool stored, long process_id)
    : options_(options), stored_(stored) {
  const std::string& file = options.log_file;
  const int standard = standard_descriptor(file);
  use(standard != 0 ? standard : file.empty() && wants_document(options) && stored ? 1 : 2, false);
  if (file.empty() || standard != 0) return;
  if (process_id != 0 || !names_process(file)) open_file(process_id);
}

Log::~Log() = default;

void Log::open(long process_id) {
  if (!names_process(options_.log_file)) return;
  try {
    open_file(process_id);
  } catch (const NvprofError& error) {
    lost_ = true;
    for (const std::string& text : error.lines) line("======== " + text);
  }
}

void Log::open_file(long process_id) {
  const std::string path = expand_name(options_.log_file, process_id);
  struct stat status {};
  const bool there = lstat(path.c_str(), &status) == 0;
  if (!there && errno != ENOENT) cannot_open(path, std::strerror(errno));
  if (there && !S_ISREG(status.st_mode)) {
    const int channel = open_channel(path);
    const std::lock_guard lock(mutex_);
    return use(channel, true);
  }
  if (access(folder_of(path).c_str(), F_OK) != 0) cannot_open(path, std::strerror(errno));
  for (const std::string& other : {options_.output, options_.save_capture}) {
    if (!other.empty() && resolved(expand_name(other, process_id)) == resolved(path)) {
      cannot_open(path, "it is the name of another file of this run");
    }
  }
  const std::lock_guard lock(mutex_);
  try {
    file_ = std::make_unique<record::OutputFile>(path, record::FileRules{.overwrite = true,
                                                                         .mode = options_.file_mode,
                                                                         .is_one = report::is_log,
                                                                         .profiles = false});
    const int file = ::open(file_->path().c_str(), O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (file < 0) cannot_open(path, std::strerror(errno));
    use(file, true);
    // An earlier log stays until there is something to replace it.
    if (!there || status.st_size == 0) file_->place();
  } catch (const Error& error) {
    cannot_open(path, error.what());
  }
}

void Log::place() {
  if (file_ && !file_->placed()) file_->place();
}

void Log::use(int descriptor, bool own) {
  buffer_ = std::make_unique<Buffer>(descriptor, own);
  stream_.rdbuf(buffer_.get());
  stream_.exceptions(std::ios::badbit);
}

void Log::write_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (buffer_->error() != 0) return;
  try {
    stream_ << printable_lines(text) << std::endl;
    place();
  } catch (const std::ios::failure&) {
    stream_.clear();
  } catch (const Error& error) {
    lost_ = true;
    file_.reset();
    std::fprintf(stderr, "gpuprof: %s\n", printable_lines(error.what()).c_str());
  }
}

void Log::say_of(std::int64_t process_id, std::string_view text) {
  constexpr int most_lines = 200;
  constexpr std::size_t most_bytes = 4000;
  int before = 0;
  {
    const std::lock_guard lock(mutex_);
    before = told_of_processes_;
    told_of_processes_ += before <= most_lines;
  }
  if (before > most_lines) return;
  if (before == most_lines) return say("what else there is to say of processes is left out");
  say("process " + std::to_string(process_id) + ": " + printable(text.substr(0, most_bytes)));
}

void Log::say(std::string_view text) {
  if (wants_document(options_)) {
    std::fprintf(stderr, "gpuprof: %s\n", printable_lines(text).c_str());
  } else {
    write_line("gpuprof: " + std::string(text));
  }
}

void Log::line(std::string_view text) {
  if (!wants_document(options_)) write_line(text);
}

bool Log::report(store::Database& database, const std::string& prefix,
                 const std::vector<std::string>& notes) {
  for (const std::string& note : notes) {
    if (wants_document(options_)) say(note);
  }
  const std::lock_guard lock(mutex_);
  if (buffer_->error() != 0) return false;
  report::ReportOptions reports = options_.reports;
  reports.for_a_person = buffer_->terminal();
  reports.colours = buffer_->terminal() ? colours_of_terminal() : 0;
  reports.terminal = reports.colours > 0;
  reports.columns = buffer_->columns();
  if (options_.action == Action::import) reports.file = options_.input;
  reports.blocks = has_unicode();
  reports.prefix = prefix;
  // After a run, its exit code counts, so do not fail here.
  reports.filter.check = stored_;
  try {
    buffer_->mark();
    for (const std::string& note : notes) {
      if (!wants_document(options_))
        stream_ << prefix << "Warning: " << printable_lines(note) << '\n';
    }
    report::print_reports(database, stream_, reports, terminal::overview);
    stream_.flush();
    place();
  } catch (const std::ios::failure&) {
    const int why = buffer_->error();
    if (why == 0) throw;
    stream_.clear();
    if (why == EPIPE) return false;
    throw Error(std::string(buffer_->own() ? "the log file" : "the output") +
                    " cannot be written: " + std::strerror(why),
                "", ExitCode::output_failed);
  } catch (...) {
    if (!buffer_->take_back()) {
      stream_ << '\n' << prefix << "Warning: This report ends here. It begins again.\n";
    }
    throw;
  }
  return true;
}

}  // namespace gpuprof::app
