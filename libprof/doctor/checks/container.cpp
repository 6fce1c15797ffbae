// What a container, a control group or a limit of the shell takes away.
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <sstream>

#include "libprof/base/text.hpp"
#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

constexpr std::uint64_t mib = 1 << 20;
// What a process of a run has for records: 256 MiB, and 64 MiB for calls.
constexpr std::uint64_t activity_buffers = 320 * mib;
// Docker's; PyTorch's data loaders and NCCL keep their data there.
constexpr std::uint64_t default_shared_memory = 64 * mib;
constexpr std::uint64_t fewest_processes = 16;
constexpr std::uint64_t fewest_files = 64;
// CUDA reserves more addresses than a machine has memory.
constexpr std::uint64_t least_addresses = 64 * 1024 * mib;
constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// A call that seccomp forbids in some containers; 0: it works.
int refused_memory_file() {
  const int file = memfd_create("gpuprof-doctor", MFD_CLOEXEC);
  if (file < 0) return errno;
  close(file);
  return 0;
}

bool reads_own_memory() {
  const int value = 1;
  int copy = 0;
  const iovec to{&copy, sizeof copy};
  const iovec from{const_cast<int*>(&value), sizeof value};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == sizeof value;
}

Findings examine_container(const System& system) {
  const std::string name = container_of(system);
  const bool contained = !name.empty();
  const std::vector<std::string> allow{
      contained ? "docker run --security-opt seccomp=unconfined --gpus all IMAGE" : ""};
  if (!system.is_copy()) {
    if (const int error = refused_memory_file()) {
      return cannot("memory that outlives a program (memfd_create) is refused here, error " +
                        std::to_string(error),
                    contained ? allow : std::vector<std::string>{});
    }
    if (!reads_own_memory()) {
      return cannot("stacks of Python cannot be read here (process_vm_readv)",
                    contained ? allow : std::vector<std::string>{});
    }
  }
  if (system.line("/proc/version").find("gVisor") != std::string::npos ||
      system.exists("/proc/sentry-meminfo")) {
    return unknown("gVisor replaces the kernel here; gpuprof was not tested in it",
                   {"docker run --runtime=nvidia --gpus all IMAGE"});
  }
  return ok(contained ? name : "not in a container");
}

// "size=65536k" of a mount; unlimited: it does not say.
std::uint64_t size_of(const Mount& mount) {
  for (const std::string& option : split(mount.super_options, ',')) {
    if (!option.starts_with("size=")) continue;
    const std::string digits = option.substr(5, option.find_first_not_of("0123456789", 5) - 5);
    const std::uint64_t unit = option.ends_with('k') ? 1024 : option.ends_with('m') ? mib : 1;
    if (const auto number = parse<std::uint64_t>(digits); number && *number < unlimited / unit) {
      return *number * unit;
    }
  }
  return unlimited;
}

Findings examine_shared_memory(const System& system) {
  const Mount mount = mount_of(system, "/dev/shm");
  if (mount.folder != "/dev/shm") return {};
  const std::uint64_t size = size_of(mount);
  if (size <= default_shared_memory) {
    return unknown("/dev/shm has " + in_words(size) +
                       ": gpuprof needs none of it, but NCCL and PyTorch's data loaders do",
                   {"docker run --shm-size=8g --gpus all IMAGE"});
  }
  return ok(size == unlimited ? "/dev/shm has half of the memory"
                              : "/dev/shm has " + in_words(size));
}

// A number in a file of a control group; unlimited if it says "max", or nothing.
std::uint64_t number_in(const System& system, const std::string& path) {
  return parse<std::uint64_t>(system.line(path)).value_or(unlimited);
}

// The folder of this process's control group (version 2) that has this file. In a container it is
// the root of what is visible.
std::string control_group(const System& system, const std::string& file) {
  for (const std::string& line : split(system.text("/proc/self/cgroup").value_or(""), '\n')) {
    if (!line.starts_with("0::/")) continue;
    const std::string folder = "/sys/fs/cgroup" + line.substr(3);
    if (system.exists(folder + "/" + file)) return folder;
  }
  return "/sys/fs/cgroup";
}

Findings examine_memory(const System& system) {
  const std::string group = control_group(system, "memory.max");
  const std::uint64_t most =
      std::min(number_in(system, group + "/memory.max"),
               number_in(system, "/sys/fs/cgroup/memory/memory.limit_in_bytes"));
  const bool contained = !container_of(system).empty();
  if (most < 2 * activity_buffers) {
    return cannot("the control group has " + in_words(most) +
                      " of memory, and gpuprof's buffers "
                      "take up to " +
                      in_words(activity_buffers) + " in each process",
                  {contained ? "docker run --memory=16g --gpus all IMAGE"
                             : "gpuprof --activity-buffers 16 -o run.sqlite ./app"});
  }
  const std::string processes = control_group(system, "pids.max");
  const std::uint64_t most_processes = number_in(system, processes + "/pids.max");
  const std::uint64_t now = number_in(system, processes + "/pids.current");
  if (most_processes != unlimited && now != unlimited && most_processes < now + fewest_processes) {
    return cannot(
        "the control group has room for " +
            std::to_string(most_processes > now ? most_processes - now : 0) + " more threads, of " +
            std::to_string(most_processes),
        {contained ? "docker run --pids-limit=-1 --gpus all IMAGE"
                   : "sudo systemctl set-property user-$(id -u).slice TasksMax=infinity"});
  }
  return ok(most >= unlimited / 4 ? "no limit by a control group" : in_words(most));
}

// The soft limit in /proc/self/limits.
std::uint64_t limit_of(const System& system, std::string_view name) {
  std::istringstream lines(system.text("/proc/self/limits").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream rest(line.substr(name.size()));
    std::string soft;
    rest >> soft;
    return parse<std::uint64_t>(soft).value_or(unlimited);
  }
  return unlimited;
}

Findings examine_limits(const System& system) {
  if (const auto bytes = limit_of(system, "Max file size"); bytes < activity_buffers) {
    return cannot("files may have " + in_words(bytes) +
                      ", which also limits the memory that outlives a program",
                  {"ulimit -f unlimited"});
  }
  if (const auto files = limit_of(system, "Max open files"); files < fewest_files) {
    return cannot("a process may open " + std::to_string(files) + " files", {"ulimit -n 1024"});
  }
  if (const auto bytes = limit_of(system, "Max address space"); bytes < least_addresses) {
    return cannot("a process may have " + in_words(bytes) +
                      " of addresses, and CUDA reserves more than the machine has memory",
                  {"ulimit -v unlimited"});
  }
  return ok("sizes of files, open files and addresses suffice");
}

Findings examine_ptrace(const System& system) {
  const std::string scope = system.line("/proc/sys/kernel/yama/ptrace_scope");
  if (scope == "2" || scope == "3") {
    return unknown(
        "only administrators may look into other processes and attach to them (ptrace_scope " +
            scope + "); runs that gpuprof starts are not concerned",
        scope == "2" ? std::vector<std::string>{"sudo sysctl kernel.yama.ptrace_scope=1"}
                     : std::vector<std::string>{"echo 'kernel.yama.ptrace_scope=1' | sudo tee "
                                                "/etc/sysctl.d/10-ptrace.conf",
                                                "sudo reboot"});
  }
  if (scope == "1" && !has_capability(system, cap_sys_ptrace)) {
    return ok(
        "ptrace_scope 1: gpuprof attach reaches programs that allow it with prctl(PR_SET_PTRACER); "
        "all others after sudo sysctl kernel.yama.ptrace_scope=0, or as root");
  }
  return ok(scope.empty() ? "not restricted by Yama" : "ptrace_scope " + scope);
}

}  // namespace

extern const Check container_check{
    .name = "container",
    .question = "Does the container, if it is one, allow what gpuprof needs?",
    .examine = examine_container,
};

extern const Check shared_memory_check{
    .name = "shared-memory",
    .question = "Is /dev/shm large enough for NCCL and data loaders?",
    .examine = examine_shared_memory,
};

extern const Check memory_check{
    .name = "memory",
    .question = "Does the control group leave memory and threads for a run?",
    .examine = examine_memory,
};

extern const Check limits_check{
    .name = "limits",
    .question = "Do the shell's limits leave room for a run (ulimit)?",
    .examine = examine_limits,
};

extern const Check ptrace_check{
    .name = "ptrace",
    .question = "May this user look into their other processes?",
    .examine = examine_ptrace,
};

}  // namespace gpuprof::doctor
