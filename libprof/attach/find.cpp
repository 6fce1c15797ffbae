#include "libprof/attach/find.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "libprof/attach/memory_map.hpp"
#include "libprof/attach/process.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/process_stat.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::size_t most_named = 10;  // in an error

bool is_called(const std::vector<std::string>& command, std::string_view name) {
  if (command.empty()) return false;
  if (file_name(command[0]) == name) return true;
  const auto script = std::find_if(command.begin() + 1, command.end(),
                                   [](const std::string& word) { return !word.starts_with('-'); });
  return script != command.end() && file_name(*script) == name;
}

bool uses_cuda(pid_t process) {
  try {
    return Process(process).uses_cuda();
  } catch (const Error&) {
    return false;  // it has ended, or keeps to itself
  }
}

// Of all users, but not this process.
std::vector<pid_t> all_processes() {
  std::vector<pid_t> all;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc", error);
  for (; !error && entries != decltype(entries)(); entries.increment(error)) {
    const auto process = parse<pid_t>(entries->path().filename().string());
    if (process && *process != getpid()) all.push_back(*process);
  }
  std::ranges::sort(all);
  return all;
}

bool is_ours(pid_t process) {
  struct stat owner {};
  return stat(("/proc/" + std::to_string(process)).c_str(), &owner) == 0 &&
         owner.st_uid == geteuid();
}

// 0: it has ended, though its parent may not have asked yet.
pid_t parent_of(pid_t process) {
  const std::vector<std::string> fields = process_stat(process);
  const bool there = fields.size() > 1 && fields[0] != "Z" && fields[0] != "X";
  return there ? parse<pid_t>(fields[1]).value_or(0) : 0;
}

}  // namespace

std::vector<pid_t> processes_of_user() {
  std::vector<pid_t> found;
  for (const pid_t process : all_processes()) {
    if (is_ours(process) && uses_cuda(process)) found.push_back(process);
  }
  if (!found.empty()) return found;
  throw Error("no process of this user uses CUDA", "attach later, or start it with gpuprof",
              ExitCode::application_not_found);
}

void Tree::look() {
  const std::vector<pid_t> now = all_processes();
  const auto is_gone = [&](pid_t process) { return !std::ranges::binary_search(now, process); };
  std::erase_if(processes_, [](pid_t process) { return parent_of(process) == 0; });
  std::erase_if(others_, is_gone);
  std::vector<std::pair<pid_t, pid_t>> unknown;  // with their parents
  for (const pid_t process : now) {
    if (processes_.contains(process) || others_.contains(process)) continue;
    unknown.emplace_back(process, parent_of(process));
  }
  // Numbers begin again at some time, so a parent may have a higher one.
  const auto joins = [this](const auto& each) {
    return processes_.contains(each.second) && processes_.insert(each.first).second;
  };
  while (std::erase_if(unknown, joins) > 0) continue;
  for (const auto& [process, parent] : unknown) others_.insert(process);
}

std::vector<pid_t> processes_of_tree(const Tree& tree) {
  std::vector<pid_t> found;
  std::ranges::copy_if(tree.processes(), std::back_inserter(found), uses_cuda);
  if (!found.empty()) return found;
  throw Error("neither process " + std::to_string(tree.root()) + " nor a descendant uses CUDA",
              "attach later, or start it with gpuprof", ExitCode::application_not_found);
}

pid_t find_process(const std::string& name) {
  std::vector<pid_t> fitting, others;
  for (const pid_t process : all_processes()) {
    if (!is_ours(process) || !is_called(command_of(process), name)) continue;
    (uses_cuda(process) ? fitting : others).push_back(process);
  }
  if (fitting.size() == 1) return fitting[0];
  if (fitting.empty()) {
    throw Error("no process of this user that uses CUDA is named " + printable(name),
                others.empty() ? "NAME is that of the program or of the script that it runs: ps -f"
                               : "process " + std::to_string(others[0]) +
                                     " has that name and does not use CUDA (yet)",
                ExitCode::application_not_found);
  }
  std::string listed;
  for (std::size_t i = 0; i < fitting.size() && i < most_named; ++i) {
    listed += (i > 0 ? ", " : "") + std::to_string(fitting[i]);
  }
  if (fitting.size() > most_named) {
    listed += " and " + std::to_string(fitting.size() - most_named) + " more";
  }
  throw Error(std::to_string(fitting.size()) + " processes named " + printable(name) +
                  " use CUDA: " + listed,
              "gpuprof attach PID records one of them, --all-of-user all that use CUDA",
              ExitCode::application_not_found);
}

}  // namespace gpuprof::attach
