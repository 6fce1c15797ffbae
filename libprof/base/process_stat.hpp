// What the kernel says of a process in one line.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gpuprof {

// The fields of /proc/PID/stat (proc(5)) that follow the name, from the state on. Empty: the
// process is gone, or may not be looked at. Never throws because it goes meanwhile, as a stream
// may.
std::vector<std::string> process_stat(pid_t process);

}  // namespace gpuprof
