#include "apps/gpuprof/run/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <streambuf>

#include "libprof/base/printable.hpp"
#include "libprof/launch/file_name.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {
namespace {

struct WriteFailed {
  int error;  // errno
};

// A document for programs: nothing else is written among it.
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

// A descriptor with a buffer: std::cerr has none, and a trace has millions of lines. Throws
// WriteFailed, once; from then on it swallows what it gets.
class Log::Buffer : public std::streambuf {
 public:
  Buffer(int descriptor, bool own) : descriptor_(descriptor), own_(own) { empty(); }
  ~Buffer() override {
    try {
      sync();
    } catch (const WriteFailed&) {
      // Nobody is left to be told.
    }
    if (own_) close(descriptor_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool own() const { return own_; }
  bool failed() const { return failed_; }
  bool terminal() const { return isatty(descriptor_) == 1; }

  // From here on take_back() forgets. The buffer is empty.
  void mark() {
    sync();
    written_ = 0;
  }
  // False: some of it is out already.
  bool take_back() {
    empty();
    if (written_ == 0) return true;
    if (!own_) return false;
    const off_t end = lseek(descriptor_, -written_, SEEK_CUR);
    return end >= 0 && ftruncate(descriptor_, end) == 0;
  }

 protected:
  int_type overflow(int_type c) override {
    sync();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override {
    const char* from = pbase();
    while (from < pptr() && !failed_) {
      const ssize_t written = write(descriptor_, from, static_cast<std::size_t>(pptr() - from));
      if (written < 0 && errno != EINTR) {
        failed_ = true;
        empty();
        throw WriteFailed{errno};
      }
      if (written > 0) from += written;
      if (written > 0) written_ += written;
    }
    empty();
    return 0;
  }

 private:
  void empty() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  int descriptor_;
  bool own_;
  bool failed_ = false;
  off_t written_ = 0;  // since the mark
  std::array<char, 1 << 16> bytes_;
};

Log::Log(const Options& options, bool stored, long process_id)
    : options_(options), stored_(stored) {
  const std::string& file = options.log_file;
  use(file == "%1" || (file.empty() && wants_document(options) && stored) ? 1 : 2, false);
  if (file.empty() || file == "%1" || file == "%2") return;
  if (process_id != 0 || !launch::names_process(file)) {
    open_file(launch::expand_name(file, process_id));
  }
}

Log::~Log() = default;

void Log::open(long process_id) {
  const std::string& file = options_.log_file;
  if (!launch::names_process(file)) return;
  try {
    open_file(launch::expand_name(file, process_id));
  } catch (const NvprofError& error) {
    lost_ = true;
    for (const std::string& text : error.lines) line("======== " + text);
  }
}

void Log::open_file(const std::string& path) {
  // What is there may be a link to a terminal; one that leads nowhere makes no file elsewhere.
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) {
    fchmod(file, options_.file_mode);
  } else if (errno == EEXIST) {
    file = ::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  }
  if (file < 0) {
    throw NvprofError{
        {"Error: can't open log file \"" + printable(path) + "\": " + std::strerror(errno)},
        ExitCode::output_failed};
  }
  const std::lock_guard lock(mutex_);
  use(file, true);
}

void Log::use(int descriptor, bool own) {
  buffer_ = std::make_unique<Buffer>(descriptor, own);
  stream_.rdbuf(buffer_.get());
  // What the buffer throws comes through.
  stream_.exceptions(std::ios::badbit);
}

void Log::write_line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  try {
    if (!buffer_->failed()) stream_ << printable_lines(text) << std::endl;
  } catch (const WriteFailed&) {
    stream_.clear();
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
  if (buffer_->failed()) return false;
  report::Options reports = options_.reports;
  const char* type = std::getenv("TERM");
  reports.terminal = buffer_->terminal() && !std::getenv("NO_COLOR") &&
                     !(type && std::string_view(type) == "dumb");
  reports.blocks = has_unicode();
  reports.prefix = prefix;
  // A run is over by then: its exit code counts.
  reports.filter.check = stored_;
  try {
    buffer_->mark();
    for (const std::string& note : notes) {
      if (!wants_document(options_))
        stream_ << prefix << "Warning: " << printable_lines(note) << '\n';
    }
    report::print_reports(database, stream_, reports);
    stream_.flush();
  } catch (const WriteFailed& failed) {
    stream_.clear();
    if (buffer_->own()) {
      throw Error(std::string("the log file cannot be written: ") + std::strerror(failed.error), "",
                  ExitCode::output_failed);
    }
    return false;
  } catch (...) {
    if (!buffer_->take_back()) {
      stream_ << '\n' << prefix << "Warning: This report ends here. It begins again.\n";
    }
    throw;
  }
  return true;
}

}  // namespace gpuprof::app
