#include "libprof/attach/process.hpp"

#include <elf.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <system_error>

#include "libprof/base/error.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/process_stat.hpp"
#include "libprof/base/regular_file.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::attach {
namespace {

constexpr std::string_view driver = "libcuda.so";
constexpr std::size_t most_maps_bytes = 64 << 20;
constexpr std::size_t most_threads = 100'000;
constexpr std::size_t most_command_bytes = 16 << 20;

// The first library whose name begins so; null: there is none.
const Mapping* find_library(const std::vector<Mapping>& maps, std::string_view begin) {
  return find_file(maps, [begin](std::string_view name) { return name.starts_with(begin); });
}

// `folder`: /proc's of a process or thread.
std::optional<pid_t> own_number_of(const std::string& folder) {
  const auto numbers = process_numbers(folder);
  return numbers.empty() ? std::nullopt : std::optional(numbers.back());
}

}  // namespace

std::vector<std::string> command_of(pid_t process) {
  std::string text =
      read_beginning("/proc/" + std::to_string(process) + "/cmdline", most_command_bytes)
          .value_or("");
  if (text.empty()) return {};
  if (text.back() == '\0') text.pop_back();  // each word is terminated by one
  return split(text, '\0');
}

bool is_glibc(std::string_view name) {
  return name == "libc.so.6" || (name.starts_with("libc-2.") && name.ends_with(".so"));
}

void Process::refuse(const std::string& why, const std::string& hint) const {
  throw Error("process " + std::to_string(id_) + " " + why, hint, ExitCode::application_not_found);
}

void Process::refuse_look() const {
  throw Error("this user may not look into process " + std::to_string(id_), ptrace_hint(),
              ExitCode::application_not_found);
}

Process::Process(pid_t id)
    : id_(id),
      handle_(static_cast<int>(syscall(SYS_pidfd_open, id, 0))),
      own_id_(own_number_of(file("")).value_or(id)) {
  if (handle_ >= 0 && alive()) return;
  throw Error("there is no process " + std::to_string(id), "ps -e",
              ExitCode::application_not_found);
}

Process::~Process() { close(handle_); }

bool Process::alive() const {
  pollfd ended{handle_, POLLIN, 0};
  return poll(&ended, 1, 0) == 0;
}

std::string Process::file(const std::string& name) const {
  return "/proc/" + std::to_string(id_) + "/" + name;
}

std::string Process::status(std::string_view name) const { return process_status(file(""), name); }

std::optional<pid_t> Process::thread_of(pid_t own_number) const {
  if (own_id_ == id_) return own_number;
  for (const std::string& number : threads()) {
    if (own_number_of(file("task/" + number)) == own_number) return parse<pid_t>(number);
  }
  return std::nullopt;
}

void Process::check() const {
#if !defined(__x86_64__)
  refuse("cannot be attached to: that works on x86-64 alone", "start the program with gpuprof");
#endif
  check_user();
  check_program();
  check_libraries();
}

void Process::check_user() const {
  // Real, effective, saved and of the file system.
  std::istringstream ids(status("Uid"));
  int count = 0;
  for (uid_t user = 0; ids >> user; ++count) {
    if (user == geteuid()) continue;
    refuse("belongs to another user, or is setuid",
           "only the user of a process can attach to it: sudo -u '#" + std::to_string(user) +
               "' gpuprof attach " + std::to_string(id_));
  }
  if (count == 0) refuse("has ended");
  if (status("State").starts_with('Z')) refuse("has ended");
  if (status("State").starts_with('T')) {
    refuse("is stopped", "kill -CONT " + std::to_string(id_));
  }
  if (const std::string tracer = status("TracerPid"); !tracer.empty() && tracer != "0") {
    throw Error("process " + printable(tracer) + " traces process " + std::to_string(id_) +
                    ", as a debugger does",
                "end that one first: only one process can trace another",
                ExitCode::application_not_found);
  }
  if (status("x86_Thread_features").find("shstk") != std::string::npos) {
    refuse("has a shadow stack, with which no call can be put into it",
           "start it with GLIBC_TUNABLES=glibc.cpu.x86_shstk=off, or with gpuprof");
  }
}

void Process::check_program() const {
  const auto header = read_beginning(file("exe"), sizeof(Elf64_Ehdr));
  if (!header) refuse_look();
  Elf64_Ehdr program{};
  std::memcpy(&program, header->data(), std::min(header->size(), sizeof program));
  if (program.e_ident[EI_CLASS] != ELFCLASS64 || program.e_machine != EM_X86_64) {
    refuse("is no 64-bit x86 program");
  }
}

void Process::check_libraries() const {
  const std::vector<Mapping> all = maps();
  if (find_library(all, "ld-musl-") || find_library(all, "libc.musl-")) {
    refuse("has another C library, musl: CUDA needs glibc");
  }
  if (!find_library(all, driver)) {
    refuse("does not use CUDA (yet)", "attach when it has, or start it with gpuprof");
  }
  if (!find_file(all, is_glibc)) {
    refuse("has another C library than glibc");
  }
}

bool Process::sees(const std::string& here, const std::string& there) const {
  std::error_code ignored;
  return std::filesystem::equivalent(here, file("root" + there), ignored);
}

// Whatever links are there, they lead nowhere else.
int Process::open_folder(const std::string& path) const {
  const int root = open(file("root").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  open_how how{};
  how.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_IN_ROOT;
  const long folder = syscall(SYS_openat2, root, path.c_str(), &how, sizeof how);
  close(root);
  return static_cast<int>(folder);
}

std::vector<Mapping> Process::maps() const {
  const auto text = read_beginning(file("maps"), most_maps_bytes);
  if (!text) refuse_look();
  return parse_maps(*text);
}

bool Process::uses_cuda() const { return find_library(maps(), driver) != nullptr; }

std::vector<std::string> Process::threads() const {
  std::vector<std::string> found;
  std::error_code error;
  std::filesystem::directory_iterator entries(file("task"), error);
  for (std::size_t i = 0; !error && i < most_threads && entries != decltype(entries)();
       ++i, entries.increment(error)) {
    found.push_back(entries->path().filename());
  }
  return found;
}

std::vector<pid_t> Process::cuda_threads() const {
  std::vector<pid_t> found;
  for (const std::string& number : threads()) {
    const auto thread = parse<pid_t>(number);
    const auto name = read_beginning(file("task/" + number + "/comm"), 64);
    if (thread && name && name->starts_with("cuda")) found.push_back(*thread);
  }
  return found;
}

ReadMemory Process::memory() const {
  return [process = id_](std::uint64_t address, std::span<std::byte> to) {
    const iovec here{to.data(), to.size()};
    const iovec there{reinterpret_cast<void*>(address), to.size()};
    return process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(to.size());
  };
}

std::string ptrace_hint() {
  const auto scope = read_beginning("/proc/sys/kernel/yama/ptrace_scope", 16);
  const std::string number(trimmed(scope.value_or("")));
  if (number == "1") {
    return "Yama lets a process be traced by its ancestors alone (ptrace_scope 1): "
           "sudo sysctl kernel.yama.ptrace_scope=0, or prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY) "
           "in the program, or docker run --cap-add=SYS_PTRACE";
  }
  if (number == "2") return "sudo sysctl kernel.yama.ptrace_scope=0, or run gpuprof as root";
  if (number == "3") return "Yama forbids it until the machine starts again (ptrace_scope 3)";
  return "a container may have to allow it: docker run --cap-add=SYS_PTRACE; programs that made "
         "themselves undumpable (prctl PR_SET_DUMPABLE) cannot be traced";
}

}  // namespace gpuprof::attach
