// Copies of the files of a run that goes on, by processes of ours: `gpuprof snapshot`.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/helper_process.hpp"

namespace gpuprof::record {

// Decides which incidents get one: no more than a number of them, and not one soon after another,
// so that neither a storm nor an incident that goes on fills the disk. What happens meanwhile is in
// the next one, because the ring still has it. Belongs to one thread. Each copy asks that thread to
// flush first (record/control.hpp), so it must not wait for one.
class Snapshots {
 public:
  using Clock = std::chrono::steady_clock;

  struct Limits {
    int most = 20;
    std::chrono::milliseconds between{10'000};  // two of a file
  };

  // `note` tells the user what was written, and why; may be empty.
  Snapshots(Limits limits, std::function<void(const std::string&)> note)
      : limits_(limits), note_(std::move(note)) {}

  // At once, because the user asked for it.
  void write(const std::string& file, const std::string& why);
  // `due`: not before. It is no use if the run ends meanwhile.
  void add_incident(const std::string& file, const std::string& why, Clock::time_point due);
  void write_due(Clock::time_point now);
  // Call it now and then while writes().
  void look_after();
  bool writes() const { return !copies_.empty(); }

  struct Waiting {
    std::string why;
    int more = 0;  // incidents that have happened since
    Clock::time_point due;

    std::string text() const;
  };
  // Incidents without a copy, by file.
  const std::map<std::string, Waiting>& waiting() const { return waiting_; }

 private:
  struct Copy {
    std::string file, name, why;
    std::unique_ptr<HelperProcess> process;
  };

  std::string free_name(const std::string& file) const;
  bool writes(const std::string& file) const;
  void note(const std::string& text) const;

  const Limits limits_;
  const std::function<void(const std::string&)> note_;
  std::vector<Copy> copies_;  // that are being made
  std::map<std::string, Waiting> waiting_;
  std::map<std::string, Clock::time_point> last_;  // when the latest incident's was begun
  int begun_ = 0;
  bool said_ = false;  // that there will be no more
};

}  // namespace gpuprof::record
