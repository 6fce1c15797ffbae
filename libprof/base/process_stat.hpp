// What the kernel says of a process in its folder of /proc (proc(5)).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

namespace gpuprof {

// Each of these is empty where the process is gone, or may not be looked at. None throws because it
// goes meanwhile, as a stream may.

// The fields of /proc/PID/stat that follow the name, from the state on.
std::vector<std::string> process_stat(pid_t process);

// `folder`: /proc/PID, or /proc/PID/task/THREAD.

// The value of the line "NAME:" of its status.
std::string process_status(const std::string& folder, std::string_view name);
// The number that it has in each PID namespace that it is in: first in ours, last in its own.
std::vector<pid_t> process_numbers(const std::string& folder);

}  // namespace gpuprof
