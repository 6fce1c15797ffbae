#include "libprof/view/server/question_process.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/store/guard.hpp"
#include "libprof/view/server/questions.hpp"

namespace gpuprof::view {
namespace {

constexpr std::int64_t most_memory = std::int64_t{1} << 30;  // for SQLite
// The process ends by itself on timeout, if SQLite lets it; this is how much longer it may take.
constexpr std::chrono::milliseconds grace{300};
constexpr int step_ms = 10;

// Text in a memory file that another process reads or writes.
class SharedText {
 public:
  explicit SharedText(std::string_view text = {})
      : file_(memfd_create("gpuprof-question", MFD_CLOEXEC)) {
    if (file_ < 0) throw Error(std::string("no memory can be shared: ") + std::strerror(errno));
    while (!text.empty()) {
      const ssize_t count = write(file_, text.data(), text.size());
      if (count <= 0) break;
      text.remove_prefix(static_cast<std::size_t>(count));
    }
    lseek(file_, 0, SEEK_SET);
  }
  ~SharedText() { close(file_); }
  SharedText(const SharedText&) = delete;
  SharedText& operator=(const SharedText&) = delete;

  int file() const { return file_; }
  std::string text() const {
    std::string text;
    std::vector<char> part(1 << 16);
    for (ssize_t count;
         (count = pread(file_, part.data(), part.size(), static_cast<off_t>(text.size()))) > 0;) {
      text.append(part.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  int file_;
};

void wait_a_little(const HelperProcess& process) {
  pollfd ended{process.watch(), POLLIN, 0};
  if (ended.fd >= 0) {
    poll(&ended, 1, step_ms);
  } else {
    std::this_thread::sleep_for(std::chrono::milliseconds(step_ms));
  }
}

}  // namespace

std::string ask_in_process(const QuestionFile& file, std::int64_t zero, std::string_view sql,
                           const std::function<bool()>& is_over) {
  const QuestionLimits limits;
  const SharedText question(sql), answer;
  HelperProcess process(
      "/proc/self/exe",
      {"view-question", "--copy", file.copy, "--zero=" + std::to_string(zero), "--", file.path},
      {{question.file(), STDIN_FILENO}, {answer.file(), STDOUT_FILENO}}, limits.time + grace);
  while (!process.ended()) {
    if (is_over()) throw Error(ended_for_another);
    if (process.overdue()) throw Error(too_long(limits));
    wait_a_little(process);
  }
  if (process.succeeded()) return answer.text();
  const int status = process.status().value_or(0);
  if (WIFEXITED(status)) throw Error(answer.text());
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU) throw Error(too_long(limits));
  throw Error("the process that answers it was ended by a signal");
}

std::string answer_in_process(const QuestionFile& file, std::int64_t zero, std::string_view sql) {
  // Works even if the parent is gone.
  const auto seconds = static_cast<rlim_t>(QuestionLimits().time.count() / 1000 + 1);
  const rlimit limit{seconds, seconds};
  setrlimit(RLIMIT_CPU, &limit);
  store::limit_memory(most_memory);
  std::string rows;
  const auto answer = [&](store::Database& database) {
    rows = rows_answer(database, zero, sql, [] { return false; });
  };
  if (file.copy.empty()) {
    reading::ProfileFile(file.path).read(answer);
  } else {
    store::Database copy(file.copy, store::Database::Mode::read_only, {.shown_as = file.path});
    answer(copy);
  }
  return rows;
}

}  // namespace gpuprof::view
