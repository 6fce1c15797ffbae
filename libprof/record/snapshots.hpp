// Copies of the files of a run that goes on, by processes of ours: `gpuprof snapshot`.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/helper_process.hpp"

namespace gpuprof::record {

// Decides which incidents get one: no more than a number of them, and not one soon after another,
// so that neither a storm nor an incident that goes on fills the disk. What happens meanwhile is in
// the next one, because the ring still has it. If each process has a file, an incident of one is a
// snapshot of all, of the same time. Belongs to one thread. A copy that the user asks for asks that
// thread to flush first (record/control.hpp), so it must not wait for one.
class Snapshots {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    int most = 20;
    std::chrono::milliseconds between{10'000};
  };

  // `note` tells the user what was written, and why; may be empty.
  Snapshots(Limits limits, std::function<void(const std::string&)> note)
      : limits_(limits), note_(std::move(note)) {}

  // At once. The files have been flushed.
  void write(const std::vector<std::string>& files, const std::string& why);
  // `due`: not before. It is no use if the run ends meanwhile.
  void add_incident(const std::string& why, Clock::time_point due);
  // The reason, if it is time for one now.
  std::optional<std::string> due(Clock::time_point now);
  // Call it now and then while writes().
  void look_after();
  bool writes() const { return !copies_.empty(); }

  struct Waiting {
    std::string why;
    int more = 0;  // incidents that have happened since
    Clock::time_point due;

    std::string text() const;
  };
  // Incidents without a copy.
  const std::optional<Waiting>& waiting() const { return waiting_; }

 private:
  struct Copy {
    std::string name, why;
    std::unique_ptr<HelperProcess> process;
  };

  std::string free_name(const std::string& file, const std::string& time) const;
  void note(const std::string& text) const;

  const Limits limits_;
  const std::function<void(const std::string&)> note_;
  std::vector<Copy> copies_;  // that are being made
  std::optional<Waiting> waiting_;
  std::optional<Clock::time_point> last_;  // when the latest incident's was begun
  int begun_ = 0;
  bool said_ = false;  // that there will be no more
};

}  // namespace gpuprof::record
