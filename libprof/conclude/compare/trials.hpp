// Records runs of commands.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace gpuprof::compare {

// Which of two programs each run of them is of, so that both see the same temperature and the same
// neighbours: 0 1 1 0 0 1 …; each `runs` times.
std::vector<int> turns(int runs);

// Records commands with this program, one at a time. Belongs to the main thread, and no other
// thread may run meanwhile: signals are passed on to the command.
class Trials {
 public:
  // `folder` is for the profiles and exists; `options` are gpuprof's, for each run.
  Trials(std::string folder, std::vector<std::string> options)
      : folder_(std::move(folder)), options_(std::move(options)) {}

  // The shell runs the command; what it prints goes to standard error. Returns the path of the
  // profile. Throws gpuprof::Error if the command ends with another code than 0, or if the user
  // interrupts it.
  std::string record(const std::string& command, const std::string& name) const;

 private:
  std::string folder_;
  std::vector<std::string> options_;
};

}  // namespace gpuprof::compare
