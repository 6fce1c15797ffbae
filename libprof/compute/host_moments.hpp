// What the host did at single moments, from what its threads of Python were seen doing
// (HOST_SAMPLE, --host-samples).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libprof/compute/code_lines.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// At each moment the GPU waits for the thread of the process that makes the next launch; if that
// was not seen, for the one that launches most. Where that thread waits for others in Python's own
// library (a queue, a lock, a process), the others' lines count: of those that run one after the
// other, else of those that sleep. A thread without Python, such as that of autograd, has the line
// that waits for it.
//
// Call in this order: read(), add_launch() for each launch, find(). Memory: the table's rows, the
// stacks, some 40 bytes per sample.
class HostMoments {
 public:
  struct Moment {
    std::int64_t time = 0;
    std::uint32_t cause = 0;  // number
  };

  // `check` is called now and then and may throw.
  void read(store::Snapshot& snapshot, const std::function<void()>& check);
  bool empty() const { return families_.empty(); }

  // `time`: of its begin.
  void add_launch(std::int64_t process, std::int64_t thread, std::int64_t time);
  void find(const std::function<void()>& check);

  // In time order; empty for a process without samples.
  std::span<const Moment> of(std::int64_t process) const;
  // "collate.py:88 collate in a child process"
  const std::string& words_of(std::uint32_t cause) const { return causes_[cause]; }

 private:
  enum class State { runs, has_no_processor, waits_for_lock, sleeps, waits };
  // A row.
  struct Seen {
    std::int64_t time = 0, stop = 0, samples = 0;
    State state = State::runs;
    std::uint32_t line = 0;   // of lines_
    bool in_library = false;  // its innermost function is of Python's own library
    std::int64_t holder = 0;  // thread that has the lock it waits for

    bool waits_for_others() const { return state == State::waits && in_library; }
    bool can_run() const { return state <= State::waits_for_lock; }
  };
  using ThreadKey = std::pair<std::int64_t, std::int64_t>;  // process, thread
  // A process that uses CUDA, and those that it started: the rows of each thread, in time order.
  using Family = std::map<ThreadKey, std::vector<Seen>>;

  // Who launches next, at the times of a process's samples.
  struct Turns {
    struct Turn {
      std::int64_t time = 0;
      std::int64_t launch = INT64_MAX;  // begin of the first one from then on
      std::int64_t thread = 0;          // that made it; valid if there is a launch
    };
    std::vector<Turn> turns;  // in time order
    std::size_t latest = 0;   // of a launch; the next one is near it, as a rule

    // Null: it is before all.
    Turn* at(std::int64_t time);
  };

  template <class Take>
  static void each_moment(const std::vector<Seen>& thread, const Take& take);
  void find_turns(std::int64_t process, const Family& family);
  // Null: it was not seen at that time.
  static const Seen* seen_at(const std::vector<Seen>& thread, std::int64_t time);
  void find(std::int64_t process, const Family& family, const std::function<void()>& check);
  const ThreadKey* busiest(std::int64_t process, const Family& family) const;
  std::uint32_t cause_of(const Family& family, const ThreadKey& who, const Seen& seen,
                         std::int64_t time, std::size_t turn);
  std::uint32_t cause_of_others(const Family& family, const ThreadKey& who, std::int64_t time,
                                std::size_t turn, bool run);
  std::string words_of(const Family& family, const ThreadKey& who, const Seen& seen,
                       std::int64_t time) const;
  std::uint32_t number_of(std::string words);

  std::vector<CodeLine> lines_;
  std::map<std::int64_t, Family> families_;  // by process
  std::map<ThreadKey, std::int64_t> launches_;
  std::map<std::int64_t, Turns> turns_;                  // by process
  std::map<std::int64_t, std::vector<Moment>> moments_;  // by process
  std::vector<std::string> causes_;
  std::map<std::string, std::uint32_t> numbers_;
};

}  // namespace gpuprof::compute
