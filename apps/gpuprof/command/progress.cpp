#include "apps/gpuprof/command/progress.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace gpuprof::app {
namespace {

volatile sig_atomic_t last_signal = 0;

void take(int signal_number) { last_signal = signal_number; }

}  // namespace

ProgressLine::ProgressLine()
    : terminal_(isatty(2) == 1), began_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(std::string_view what) {
  using namespace std::chrono_literals;
  if (!terminal_ || what == shown_ || std::chrono::steady_clock::now() - began_ < 1s) return;
  std::fprintf(stderr, "\r\033[K%.*s ...", static_cast<int>(what.size()), what.data());
  shown_ = what;
}

void ProgressLine::clear() {
  if (!shown_.empty()) std::fputs("\r\033[K", stderr);
  shown_.clear();
}

Progress::Progress() {
  last_signal = 0;
  struct sigaction once {};
  once.sa_handler = take;
  once.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &once, nullptr);
  sigaction(SIGTERM, &once, nullptr);
}

Progress::~Progress() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

int Progress::interrupted() { return last_signal; }

int code_of_interrupted(const store::DatabaseError& error) {
  if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
  return 128 + Progress::interrupted();
}

}  // namespace gpuprof::app
