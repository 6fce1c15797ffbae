// What a recording contains so far, and what was added recently. For gpuprof top.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libprof/report/stalled_work.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/terminal/newest_work.hpp"

namespace gpuprof::terminal {

// Reads a file repeatedly, each time only the new rows. Used by one thread, with a database opened
// per reading. Memory: one sum per name.
class Top {
 public:
  struct Sum {
    std::int64_t count = 0;
    double time = 0;  // ns
  };
  struct Work {
    std::string name;
    Sum all, fresh;  // fresh: since the previous reading
  };

  // `most`: number of names to list, those with most time. `stalled_after`: see StalledWork.
  void read(store::Database& database, std::size_t most, std::int64_t stalled_after);

  const std::vector<Work>& work() const { return work_; }
  std::int64_t names() const { return static_cast<std::int64_t>(sums_.size()); }
  const Sum& kernels() const { return kernels_.all; }
  const Sum& fresh_kernels() const { return kernels_.fresh; }
  const Sum& others() const { return others_.all; }  // copies, sets etc.
  std::int64_t calls() const { return calls_; }
  std::int64_t fresh_calls() const { return fresh_calls_; }
  double time() const { return kernels_.all.time + others_.all.time; }
  std::int64_t losses() const { return losses_; }
  // What does not end, in words.
  const std::vector<std::string>& stalled() const { return stalled_; }
  const NewestWork& newest() const { return newest_; }  // since the previous reading
  // From the first begin of GPU work to its last end, ns.
  std::int64_t span() const { return last_ > first_ ? last_ - first_ : 0; }

 private:
  using Key = std::pair<std::size_t, std::int64_t>;  // index in schema::gpu_kinds, name
  struct Change {
    Sum all, fresh;
  };
  void read_kind(store::Database& database, std::size_t kind);
  void read_calls(store::Database& database);
  void name_work(store::Database& database, std::size_t most);

  std::map<Key, Change> sums_;
  std::map<std::string, std::int64_t> read_up_to_;  // ids, by table
  Change kernels_, others_;
  std::int64_t calls_ = 0, fresh_calls_ = 0, losses_ = 0;
  std::int64_t first_ = INT64_MAX, last_ = INT64_MIN;
  std::vector<Work> work_;
  NewestWork newest_;
  report::StalledWork stalled_work_;
  std::vector<std::string> stalled_;
};

// Lines that fit the style. `seconds`: since the previous reading; 0: this is the first.
std::string text(const Top& top, const std::string& title, double seconds, const Style& style);

}  // namespace gpuprof::terminal
