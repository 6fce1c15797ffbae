#include "libprof/collect/extra/thread_masks.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <span>
#include <string_view>
#include <system_error>

namespace gpuprof::collect {
namespace {

// A line as "SigBlk:\t0000000000010000".
std::uint64_t mask_after(std::string_view text, std::string_view name) {
  std::uint64_t mask = 0;
  const std::size_t at = text.find(name);
  if (at == text.npos) return 0;
  const std::string_view digits = text.substr(at + name.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), mask, 16);
  return mask;
}

// The beginning of a file of a thread; empty: it cannot be read.
std::string_view read_thread_file(pid_t thread, const char* name, std::span<char> room) {
  std::array<char, 64> path;
  std::snprintf(path.data(), path.size(), "/proc/self/task/%d/%s", thread, name);
  const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  const ssize_t size = read(file, room.data(), room.size());
  close(file);
  return {room.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

// Of the system call that a thread is in, "270 0x0 0x7f…", whether the kernel has replaced the
// thread's mask of signals for as long as it waits.
bool waits_with_mask(std::string_view call) {
  std::uint64_t words[7] = {};
  for (std::uint64_t& word : words) {
    const bool hexadecimal = call.starts_with("0x");
    if (hexadecimal) call.remove_prefix(2);
    const auto end =
        std::from_chars(call.data(), call.data() + call.size(), word, hexadecimal ? 16 : 10);
    if (end.ec != std::errc()) return false;  // it runs
    call.remove_prefix(static_cast<std::size_t>(end.ptr - call.data()));
    if (call.starts_with(' ')) call.remove_prefix(1);
  }
  constexpr std::uint64_t epoll_pwait2 = 441;  // everywhere
  switch (words[0]) {
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend: return true;
    case SYS_ppoll: return words[4] != 0;
    case SYS_epoll_pwait:
    case epoll_pwait2: return words[5] != 0;
    case SYS_pselect6: return words[6] != 0;
    default: return false;
  }
}

}  // namespace

bool each_thread(const std::function<void(pid_t)>& use) {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/task"), &closedir);
  if (!folder) return false;
  while (const dirent* const entry = readdir(folder.get())) {
    const std::string_view name = entry->d_name;
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread > 0) use(thread);
  }
  return true;
}

std::optional<SignalMasks> masks_of(pid_t thread) {
  std::array<char, 4096> text;
  // Before and after: in between it may have begun, or ended.
  const bool before = waits_with_mask(read_thread_file(thread, "syscall", text));
  const std::string_view status = read_thread_file(thread, "status", text);
  if (status.empty()) return std::nullopt;
  SignalMasks masks{.blocked = mask_after(status, "SigBlk:\t"),
                    .pending = mask_after(status, "SigPnd:\t")};
  masks.changed = waits_with_mask(read_thread_file(thread, "syscall", text)) || before;
  return masks;
}

}  // namespace gpuprof::collect
