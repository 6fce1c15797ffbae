// Which of this user's processes are meant.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace gpuprof::attach {

// The one process of this user that uses CUDA and whose program has that name, or whose interpreter
// runs a script of that name: "train.py" for `python3 -u src/train.py`. Throws gpuprof::Error, with
// the processes there are, if it is not one.
pid_t find_process(const std::string& name);

// The processes that use CUDA, by number: of this user, or this one and its descendants. Throws
// gpuprof::Error if there are none.
std::vector<pid_t> processes_of_user();
std::vector<pid_t> processes_of_tree(pid_t root);

}  // namespace gpuprof::attach
