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
std::uint64_t number_after(std::string_view text, std::string_view name, int base) {
  std::uint64_t number = 0;
  const std::size_t at = text.find(name);
  if (at == text.npos) return 0;
  const std::string_view digits = text.substr(at + name.size());
  std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  return number;
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

bool read_status(pid_t thread, SignalMasks& masks) {
  std::array<char, 4096> text;
  const std::string_view status = read_thread_file(thread, "status", text);
  masks.blocked |= number_after(status, "SigBlk:\t", 16);
  masks.pending |= number_after(status, "SigPnd:\t", 16);
  masks.waits = number_after(status, "\nvoluntary_ctxt_switches:\t", 10);
  return !status.empty();
}

// What a thread does that is asleep in a system call, "270 0x0 0x7f…".
enum class Sleep { none, with_own_mask, with_another_mask };

Sleep sleep_in(std::string_view call) {
  std::uint64_t words[7] = {};
  for (std::uint64_t& word : words) {
    const bool hexadecimal = call.starts_with("0x");
    if (hexadecimal) call.remove_prefix(2);
    const auto end =
        std::from_chars(call.data(), call.data() + call.size(), word, hexadecimal ? 16 : 10);
    if (end.ec != std::errc()) return Sleep::none;  // it runs
    call.remove_prefix(static_cast<std::size_t>(end.ptr - call.data()));
    if (call.starts_with(' ')) call.remove_prefix(1);
  }
  constexpr std::uint64_t epoll_pwait2 = 441;  // everywhere
  const auto with_mask = [](bool changed) {
    return changed ? Sleep::with_another_mask : Sleep::with_own_mask;
  };
  switch (words[0]) {
    case SYS_rt_sigtimedwait:
    case SYS_rt_sigsuspend: return with_mask(true);
    case SYS_ppoll: return with_mask(words[4] != 0);
    case SYS_epoll_pwait:
    case epoll_pwait2: return with_mask(words[5] != 0);
    case SYS_pselect6: return with_mask(words[6] != 0);
    default: return with_mask(false);
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
  std::array<char, 512> text;
  SignalMasks masks;
  if (!read_status(thread, masks)) return std::nullopt;
  const std::uint64_t waits = masks.waits;
  const Sleep sleep = sleep_in(read_thread_file(thread, "syscall", text));
  if (!read_status(thread, masks)) return std::nullopt;
  masks.changed = sleep == Sleep::with_another_mask;
  // It went to sleep before the first look, and not again since.
  masks.is_own = sleep == Sleep::with_own_mask && masks.waits == waits;
  return masks;
}

bool MaskSightings::may_be_new(std::chrono::nanoseconds ran) const {
  constexpr std::chrono::microseconds progress(20);  // longer than a call takes to change the mask
  return sightings_ == 0 || ran >= ran_ + progress;
}

MaskSightings::Finding MaskSightings::add(const SignalMasks& masks, int signal,
                                          std::chrono::nanoseconds ran) {
  if (masks.blocks(signal)) {
    *this = {};
    blocked_ = true;
    return Finding::blocks;
  }
  if (masks.is_own) return Finding::lets_through;
  if (!may_be_new(ran)) return Finding::not_known;
  without_wait_ = sightings_ > 0 && masks.waits == waits_ ? without_wait_ + 1 : 1;
  ++sightings_;
  waits_ = masks.waits;
  ran_ = ran;
  const bool is_enough =
      without_wait_ >= enough_without_wait || sightings_ >= (blocked_ ? enough_if_blocked : enough);
  return is_enough ? Finding::lets_through : Finding::not_known;
}

}  // namespace gpuprof::collect
