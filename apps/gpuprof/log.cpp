#include "apps/gpuprof/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <streambuf>

#include "libprof/launch/file_name.hpp"
#include "libprof/report/report.hpp"

namespace gpuprof::app {

// A descriptor with a buffer: std::cerr has none, and a trace has millions of lines.
class Log::Buffer : public std::streambuf {
 public:
  Buffer(int descriptor, bool own) : descriptor_(descriptor), own_(own) {
    setp(bytes_.data(), bytes_.data() + bytes_.size());
  }
  ~Buffer() override {
    sync();
    if (own_) close(descriptor_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  bool terminal() const { return isatty(descriptor_) == 1; }

 protected:
  int_type overflow(int_type c) override {
    if (sync() != 0) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override {
    const char* from = pbase();
    while (from < pptr()) {
      const ssize_t written = write(descriptor_, from, static_cast<std::size_t>(pptr() - from));
      if (written < 0 && errno != EINTR) break;
      if (written > 0) from += written;
    }
    const bool all = from == pptr();
    setp(bytes_.data(), bytes_.data() + bytes_.size());
    return all ? 0 : -1;
  }

 private:
  int descriptor_;
  bool own_;
  std::array<char, 1 << 16> bytes_;
};

Log::Log(const Options& options, bool stored, long process_id) : options_(options) {
  const bool json = options.reports.layout == report::Layout::json;
  const std::string& file = options.log_file;
  use(file == "%1" || (file.empty() && json && stored) ? 1 : 2, false);
  if (file.empty() || file == "%1" || file == "%2") return;
  if (process_id != 0 || !launch::names_process(file))
    open_file(launch::expand_name(file, process_id));
}

Log::~Log() = default;

void Log::open(long process_id) {
  const std::string& file = options_.log_file;
  if (launch::names_process(file)) open_file(launch::expand_name(file, process_id));
}

void Log::open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  const std::lock_guard lock(mutex_);
  if (file >= 0) {
    use(file, true);
  } else {
    std::fprintf(stderr, "======== Error: can't open log file \"%s\"\n", path.c_str());
  }
}

void Log::use(int descriptor, bool own) {
  buffer_ = std::make_unique<Buffer>(descriptor, own);
  stream_.rdbuf(buffer_.get());
}

void Log::say(std::string_view text) {
  if (options_.reports.layout == report::Layout::json) {
    std::fprintf(stderr, "gpuprof: %.*s\n", static_cast<int>(text.size()), text.data());
    return;
  }
  const std::lock_guard lock(mutex_);
  stream_ << "gpuprof: " << text << std::endl;
}

void Log::line(std::string_view text) {
  if (options_.reports.layout == report::Layout::json) return;
  const std::lock_guard lock(mutex_);
  stream_ << text << std::endl;
}

void Log::report(store::Database& database, const std::string& prefix) {
  const std::lock_guard lock(mutex_);
  report::Options reports = options_.reports;
  const char* type = std::getenv("TERM");
  reports.terminal = buffer_->terminal() && !std::getenv("NO_COLOR") &&
                     (!type || std::string_view(type) != "dumb");
  reports.prefix = prefix;
  report::print_reports(database, stream_, reports);
  stream_.flush();
}

}  // namespace gpuprof::app
