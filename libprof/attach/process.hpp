// A running process of the same user, read from /proc: whether gpuprof may and can attach to it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/attach/image.hpp"
#include "libprof/attach/memory_map.hpp"

namespace gpuprof::attach {

// One process, also after its number has become another's. One thread.
class Process {
 public:
  // Throws gpuprof::Error if there is no such process.
  explicit Process(pid_t id);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t id() const { return id_; }
  // The number that it has for itself, in a PID namespace of its own for instance.
  pid_t own_id() const { return own_id_; }
  // Its thread that has this number for itself; nullopt: there is none.
  std::optional<pid_t> thread_of(pid_t own_number) const;
  bool alive() const;

  // Throws gpuprof::Error, with the reason, if gpuprof does not attach to it: it belongs to another
  // user or has privileges, is traced by another process, is of another architecture, has another
  // C library, or does not use CUDA.
  void check() const;
  // Whether it sees the file or folder at `there` that we see at `here`.
  bool sees(const std::string& here, const std::string& there) const;
  // Opens a folder of its file system. -1: it cannot be opened.
  int open_folder(const std::string& path) const;

  // Throws if they cannot be read.
  std::vector<Mapping> maps() const;
  // Whether the driver is mapped. Throws if that cannot be read.
  bool uses_cuda() const;
  // Whether it has a context, as far as can be seen. Throws in the same way.
  bool has_context() const { return !cuda_threads().empty() && uses_cuda(); }
  // Its threads whose names begin as those of CUDA do.
  std::vector<pid_t> cuda_threads() const;
  ReadMemory memory() const;

  // Throws gpuprof::Error: "process 1234 " and the reason.
  [[noreturn]] void refuse(const std::string& why, const std::string& hint = {}) const;

 private:
  [[noreturn]] void refuse_look() const;
  // The value of a line "NAME:" of its status; empty: there is none.
  std::string status(std::string_view name) const;
  std::string file(const std::string& name) const;
  // Their numbers here.
  std::vector<std::string> threads() const;
  void check_user() const;
  void check_program() const;
  void check_libraries() const;

  const pid_t id_;
  int handle_ = -1;
  pid_t own_id_;
};

// The words of its command; none if they cannot be read.
std::vector<std::string> command_of(pid_t process);

// Whether a library of this name is glibc's libc.
bool is_glibc(std::string_view name);

// What a system or a process would have to allow; for an Error whose reason is a missing
// permission.
std::string ptrace_hint();

}  // namespace gpuprof::attach
