#include "apps/gpuprof/command/progress.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdio>

namespace gpuprof::app {
namespace {

volatile sig_atomic_t last_signal = 0;

void take(int signal_number) { last_signal = signal_number; }

}  // namespace

Progress::Progress() : terminal_(isatty(2) == 1), began_(std::chrono::steady_clock::now()) {
  last_signal = 0;
  struct sigaction once {};
  once.sa_handler = take;
  once.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &once, nullptr);
  sigaction(SIGTERM, &once, nullptr);
}

Progress::~Progress() {
  clear();
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
}

void Progress::show(std::string_view what) {
  using namespace std::chrono_literals;
  if (!terminal_ || std::chrono::steady_clock::now() - began_ < 1s) return;
  std::fprintf(stderr, "\r\033[K%.*s ...", static_cast<int>(what.size()), what.data());
  shown_ = true;
}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

int Progress::interrupted() { return last_signal; }

}  // namespace gpuprof::app
