// Which of this user's processes is meant by a name.
#pragma once

#include <sys/types.h>

#include <string>

namespace gpuprof::attach {

// The one process of this user that uses CUDA and whose program has that name, or whose interpreter
// runs a script of that name: "train.py" for `python3 -u src/train.py`. Throws gpuprof::Error, with
// the processes there are, if it is not one.
pid_t find_process(const std::string& name);

}  // namespace gpuprof::attach
