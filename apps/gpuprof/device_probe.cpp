#include "apps/gpuprof/device_probe.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <utility>

#include "apps/gpuprof/cupti_paths.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::app {
namespace {

constexpr std::chrono::seconds patience{60};

// All that comes out of two pipes until both end, or the time is over.
bool drain(std::array<int, 2> files, std::array<std::string, 2>& texts) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::array<pollfd, 2> waiting{pollfd{files[0], POLLIN, 0}, pollfd{files[1], POLLIN, 0}};
  while (waiting[0].fd >= 0 || waiting[1].fd >= 0) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return false;
    if (poll(waiting.data(), waiting.size(), static_cast<int>(left.count())) < 0 &&
        errno != EINTR) {
      return false;
    }
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i].fd < 0 || !(waiting[i].revents & (POLLIN | POLLHUP))) continue;
      char piece[4096];
      const ssize_t got = read(waiting[i].fd, piece, sizeof piece);
      if (got > 0) {
        texts[i].append(piece, static_cast<std::size_t>(got));
      } else {
        waiting[i].fd = -1;
      }
    }
  }
  return true;
}

}  // namespace

std::vector<ProbedDevice> probe_devices(const std::string& cupti, bool try_one) {
  std::vector<std::string> words{(library_folder() / "gpuprof-probe").string(),
                                 try_one ? "try" : "list"};
  for (std::string& candidate : host_cupti_candidates(cupti)) words.push_back(std::move(candidate));
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);

  std::array<std::array<int, 2>, 2> pipes{};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 2; ++i) {
    auto& ends = pipes[static_cast<std::size_t>(i)];
    if (pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error(std::string("pipe: ") + std::strerror(errno));
    }
    posix_spawn_file_actions_adddup2(&actions, ends[1], i + 1);
  }
  pid_t process = -1;
  const int failed =
      posix_spawn(&process, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  for (const auto& ends : pipes) close(ends[1]);
  if (failed) {
    for (const auto& ends : pipes) close(ends[0]);
    throw Error(words[0] + ": " + std::strerror(failed),
                "metrics need a gpuprof that was built with CUPTI's headers: scripts/setup",
                ExitCode::no_metrics);
  }
  std::array<std::string, 2> texts;
  const bool all = drain({pipes[0][0], pipes[1][0]}, texts);
  if (!all) kill(process, SIGKILL);
  for (const auto& ends : pipes) close(ends[0]);
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (!all) {
    throw Error("the driver did not answer within a minute", "see what nvidia-smi says",
                ExitCode::no_metrics);
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::istringstream lines(texts[1]);
    std::string what;
    std::string hint;
    std::getline(lines, what);
    std::getline(lines, hint);
    const auto code =
        WIFEXITED(status) ? static_cast<ExitCode>(WEXITSTATUS(status)) : ExitCode::no_metrics;
    throw Error(what.empty() ? "gpuprof-probe ended without a word" : what, hint, code);
  }
  std::vector<ProbedDevice> devices;
  std::istringstream lines(texts[0]);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words_of(line);
    ProbedDevice& device = devices.emplace_back();
    std::string index;
    std::getline(words_of, index, '\t');
    std::getline(words_of, device.chip, '\t');
    std::getline(words_of, device.name, '\t');
    std::getline(words_of, device.problem, '\t');
    device.index = std::atoi(index.c_str());
  }
  return devices;
}

}  // namespace gpuprof::app
