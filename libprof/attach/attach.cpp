#include "libprof/attach/attach.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <thread>

#include "libprof/attach/image.hpp"
#include "libprof/attach/remote_call.hpp"

namespace gpuprof::attach {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char entry[] = "gpuprof_collector_attach";
// For the loader of the process, whose lock another thread may have.
constexpr std::chrono::seconds loading_patience{20};
constexpr std::chrono::seconds waiting_patience{2};
constexpr std::chrono::microseconds between_looks{200};

[[noreturn]] void refuse(const Process& process, const std::string& why) {
  process.refuse(why, process.alive() ? "try again, or start it with gpuprof" : "");
}

std::uint64_t dlopen_of(const Process& process, const std::vector<Mapping>& maps) {
  // Before glibc 2.34 it is in libdl.
  for (const std::string_view name : {"libc.so.6", "libc-2.", "libdl.so.2", "libdl-2."}) {
    const Mapping* const library =
        find_file(maps, [&](std::string_view file) { return file.starts_with(name); });
    if (!library) continue;
    if (const auto found = Image(process.memory(), library->begin).function("dlopen")) {
      return *found;
    }
  }
  refuse(process, "has no dlopen, with which the collector would be loaded");
}

// glibc's: mov $15, %rax; syscall.
std::uint64_t signal_return_of(const Process& process, const std::vector<Mapping>& maps) {
  constexpr std::array<unsigned char, 9> code{0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
  const Mapping* const libc = find_file(maps, is_glibc);
  const auto found = libc ? find_code(process.memory(), maps, *libc, std::as_bytes(std::span(code)))
                          : std::nullopt;
  if (!found) refuse(process, "has a C library that gpuprof does not know");
  return *found;
}

std::optional<std::uint64_t> entry_of(const Process& process, const std::string& collector) {
  const std::vector<Mapping> maps = process.maps();
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(collector, error);
  const std::string real = error ? collector : canonical.string();
  for (const Mapping& mapping : maps) {
    if (mapping.offset != 0 || (mapping.path != collector && mapping.path != real)) continue;
    if (const auto found = Image(process.memory(), mapping.begin).function(entry)) return found;
  }
  return std::nullopt;
}

// Repeats until the thread waits. false: it did not in time.
bool until_it_waits(const Process& process, std::chrono::milliseconds patience,
                    const std::function<bool()>& given_up, const std::function<Waits()>& attempt) {
  const auto until = Clock::now() + patience;
  while (attempt() == Waits::no) {
    if (!process.alive()) refuse(process, "has ended");
    if (given_up() || Clock::now() > until) return false;
    std::this_thread::sleep_for(between_looks);
  }
  return true;
}

// One of CUDA's that waits in poll.
pid_t waiting_thread(const Process& process, const std::function<bool()>& given_up) {
  pid_t found = 0;
  until_it_waits(process, waiting_patience, given_up, [&] {
    for (const pid_t thread : process.cuda_threads()) {
      if (look(process, thread) == Waits::no) continue;
      found = thread;
      return Waits::yes;
    }
    return Waits::no;
  });
  if (found == 0) {
    refuse(process,
           "has no safe place for the collector: no thread of CUDA's waits in poll, because CUDA "
           "has no context there yet");
  }
  return found;
}

}  // namespace

Outcome start_collector(const Process& process, const std::string& collector,
                        const std::string& socket, const std::function<bool()>& given_up) {
  const std::vector<Mapping> maps = process.maps();
  const std::uint64_t load = dlopen_of(process, maps);
  const std::uint64_t signal_return = signal_return_of(process, maps);
  const pid_t thread = waiting_thread(process, given_up);
  Outcome outcome;
  const auto make = [&](const RemoteCall& wanted) {
    const bool made = until_it_waits(process, waiting_patience, given_up, [&] {
      return call(process, thread, wanted, outcome.stopped);
    });
    if (!made) refuse(process, "has no safe place for the collector: CUDA's thread is busy");
    const auto began = Clock::now();
    // After that it has returned.
    if (!until_it_waits(process, loading_patience, given_up,
                        [&] { return look(process, thread); })) {
      refuse(process, "does not load the collector: another thread holds its loader's lock");
    }
    outcome.away = std::max(outcome.away, std::chrono::nanoseconds(Clock::now() - began));
  };
  make({.function = load,
        .text = collector,
        .second = RTLD_NOW | RTLD_LOCAL,
        .signal_return = signal_return});
  const auto begin = entry_of(process, collector);
  if (!begin) {
    refuse(process, "did not load " + collector +
                        ": its C library is too old for it, or memory or permissions are missing");
  }
  make({.function = *begin, .text = socket, .second = 0, .signal_return = signal_return});
  return outcome;
}

}  // namespace gpuprof::attach
