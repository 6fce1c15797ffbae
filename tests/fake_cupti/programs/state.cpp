// state: what a profiler must leave alone: locale, signal handlers and mask, the environment,
// errno, the umask, the current folder, descriptors 0 to 2. Ends with the number of the first that
// changed.
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

extern char** environ;

namespace {

void handler(int) {}

std::string all_variables() {
  std::string text;
  for (char** variable = environ; *variable; ++variable) text += std::string(*variable) + "\n";
  return text;
}

}  // namespace

int main() {
  setlocale(LC_ALL, "C.UTF-8");
  const std::string locale = setlocale(LC_ALL, nullptr);
  const std::string variables = all_variables();
  struct sigaction action {};
  action.sa_handler = handler;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &action, nullptr);
  sigset_t blocked, before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  sigaddset(&blocked, SIGWINCH);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  sigprocmask(SIG_SETMASK, nullptr, &before);
  umask(027);
  char folder_before[4096], folder_after[4096];
  if (!getcwd(folder_before, sizeof folder_before)) return 90;
  struct stat standard[3];
  for (int number = 0; number < 3; ++number) fstat(number, &standard[number]);

  errno = 77;
  fake_launch("quiet", 1000);
  if (errno != 77) return 1;
  usleep(100'000);
  fake_launch("quiet", 1000);
  fake_synchronize();

  if (locale != setlocale(LC_ALL, nullptr)) return 2;
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction now {};
    if (sigaction(number, nullptr, &now) != 0 || number == SIGKILL || number == SIGSTOP) continue;
    if (now.sa_handler != handler) return 3;
  }
  sigset_t after;
  sigprocmask(SIG_SETMASK, nullptr, &after);
  for (int number = 1; number < NSIG; ++number) {
    if (sigismember(&before, number) != sigismember(&after, number)) return 4;
  }
  if (umask(027) != 027) return 5;
  if (!getcwd(folder_after, sizeof folder_after) || std::strcmp(folder_before, folder_after) != 0) {
    return 6;
  }
  for (int number = 0; number < 3; ++number) {
    struct stat now {};
    fstat(number, &now);
    if (now.st_ino != standard[number].st_ino) return 7;
  }
  if (variables != all_variables()) return 8;
  return 0;
}
