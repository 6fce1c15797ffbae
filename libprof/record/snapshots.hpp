// Copies of the files of a run that goes on, by processes of ours: `gpuprof snapshot`.
#pragma once

#include <chrono>
#include <cstdint>
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

  // Of all files of a snapshot, and of the snapshots of a job.
  struct Moment {
    std::string name;           // "-20261126-174901", in the files' names
    std::int64_t realtime = 0;  // [ns since 1970] the copies have what began before it

    static Moment now();
    // What another launcher says becomes part of a name.
    bool is_plausible() const;
  };

  // At once. The files have been flushed. `cut`: what began after the moment is left out, so that
  // copies end together; it costs a reading of all rows, which are otherwise copied unread.
  void write(const std::vector<std::string>& files, const std::string& why, const Moment& moment,
             bool cut);
  // `due`: not before. It is no use if the run ends meanwhile. The same again, as that of the
  // latest snapshot, is no other incident for two seconds.
  void add_incident(const std::string& why, Clock::time_point due);
  // The same for what all ranks of a job see at about the same time: one that another launcher's
  // snapshot has got no other.
  void add_incident_of_a_job(const std::string& why, Clock::time_point now);
  // The reason, if it is time for one now.
  std::optional<std::string> due(Clock::time_point now);
  // Why another launcher's incident can have no snapshot now; empty: it can.
  std::string refusal(Clock::time_point now) const;
  // One is written for it, at once; that is one of the limits. Returns `why` with this run's own
  // incidents that waited: they need no other.
  std::string begin_for_another(const std::string& why, Clock::time_point now);
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
  std::optional<Clock::time_point> last_;     // when the latest incident's was begun
  std::string latest_;                        // that incident
  std::optional<Clock::time_point> another_;  // the same of another launcher's
  int begun_ = 0;
  bool said_ = false;  // that there will be no more
};

}  // namespace gpuprof::record
