#include "libprof/collect/process_facts.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "libprof/base/shell.hpp"
#include "libprof/wire/job.hpp"

namespace gpuprof::collect {
namespace {

std::string executable() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<std::size_t>(length)) : std::string();
}

std::string command_line() {
  const std::string arguments = file_text("/proc/self/cmdline");  // each is terminated by a zero
  std::vector<std::string> words;
  for (std::size_t at = 0; at < arguments.size(); at += words.back().size() + 1) {
    words.emplace_back(arguments.c_str() + at);
  }
  return shell_line(words);
}

// What distinguishes processes of one command consistently from run to run: their ranks, and their
// assigned devices.
std::string rank() {
  std::string text;
  const auto add = [&](std::string_view variable) {
    const std::string name(variable);
    const char* value = name.empty() ? nullptr : secure_getenv(name.c_str());
    if (value) text += name + "=" + value + " ";
  };
  for (const wire::JobLauncher& launcher : wire::job_launchers) {
    add(launcher.rank);
    add(launcher.local_rank);
  }
  add("CUDA_VISIBLE_DEVICES");
  return text;
}

}  // namespace

std::string injection_besides_us(const char* variable) {
  const char* const named = secure_getenv(variable);
  struct stat ours {
  }, theirs{};
  Dl_info library{};
  if (!named || !*named || dladdr(reinterpret_cast<void*>(&process_facts), &library) == 0 ||
      !library.dli_fname || stat(library.dli_fname, &ours) != 0) {
    return {};
  }
  const bool same =
      stat(named, &theirs) == 0 && ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
  return same ? std::string() : named;
}

wire::Fields process_facts() {
  wire::Fields facts;
  facts.set("process_id", static_cast<std::int64_t>(getpid()));
  facts.set("parent_process_id", static_cast<std::int64_t>(getppid()));
  facts.set("executable", executable());
  // Decided before there is a config that could say so.
  if (!secure_getenv("GPUPROF_HIDE_COMMAND_LINE")) facts.set("command_line", command_line());
  facts.set("rank", rank());
  wire::for_each_job_variable([&](std::string_view name) {
    const char* value = secure_getenv(std::string(name).c_str());
    if (!value || std::strlen(value) > wire::max_job_value) return;
    facts.set(std::string(wire::environment_prefix) + std::string(name), value);
  });
  return facts;
}

std::string file_text(const char* path) {
  std::string text;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  char piece[4096];
  ssize_t got;
  while (file >= 0 && (got = read(file, piece, sizeof piece)) > 0) {
    text.append(piece, static_cast<std::size_t>(got));
  }
  if (file >= 0) close(file);
  return text;
}

}  // namespace gpuprof::collect
