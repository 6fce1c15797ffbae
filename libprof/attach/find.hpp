// Which of this user's processes are meant.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace gpuprof::attach {

// The one process of this user that uses CUDA and whose program has that name, or whose interpreter
// runs a script of that name: "train.py" for `python3 -u src/train.py`. Throws gpuprof::Error, with
// the processes there are, if it is not one.
pid_t find_process(const std::string& name);

// A process and its descendants, also those whose parents have ended, if they were seen before.
class Tree {
 public:
  explicit Tree(pid_t root) : root_(root), processes_{root} { look(); }

  // Finds those that have started or ended since the last time.
  void look();
  pid_t root() const { return root_; }
  const std::set<pid_t>& processes() const { return processes_; }

 private:
  pid_t root_;
  std::set<pid_t> processes_, others_;
};

// The processes that use CUDA, by number: of this user, or of a tree. Throws gpuprof::Error if
// there are none.
std::vector<pid_t> processes_of_user();
std::vector<pid_t> processes_of_tree(const Tree& tree);

}  // namespace gpuprof::attach
