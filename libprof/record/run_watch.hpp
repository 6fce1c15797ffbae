// Processes of ours that look for incidents in the files of a run that goes on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/descriptor.hpp"
#include "libprof/base/helper_process.hpp"
#include "libprof/record/incidents.hpp"
#include "libprof/record/trigger.hpp"

namespace gpuprof::record {

constexpr char between_triggers = '\x1e';  // on the process's command line

// The process's side, "gpuprof watch-run": looks at the file twice a second and writes a line to
// standard output each time, until `is_over`, or until nobody reads it. Throws Error.
void watch_run(const std::string& file, std::vector<Trigger> triggers, bool from_now,
               const std::function<bool()>& is_over);

// The launcher's side. Belongs to one thread, which calls look() now and then.
class RunWatch {
 public:
  struct Seen {
    std::string file;
    Incident incident;
  };

  // Without triggers no process is started. `note` tells the user what cannot be watched.
  RunWatch(std::vector<Trigger> triggers, std::function<void(const std::string&)> note);

  // Watches these files. What was found since the last call.
  std::vector<Seen> look(const std::vector<std::string>& files);
  // Forgets everything: what is recorded from now on is watched.
  void begin_again();
  bool watches() const { return !triggers_.empty(); }

 private:
  using Clock = std::chrono::steady_clock;

  struct Watched {
    std::unique_ptr<HelperProcess> process;  // null: it could not be started, or was given up
    std::optional<Descriptor> lines;
    std::string line;          // the part of one that has come
    Clock::time_point said{};  // when it last said something
    bool without_sql = false;
  };

  void start(const std::string& file, Watched& watched);
  void read(const std::string& file, Watched& watched, std::vector<Seen>& seen);
  void take_line(const std::string& file, std::string_view line, std::vector<Seen>& seen);
  void look_after(const std::string& file, Watched& watched);

  const std::vector<Trigger> triggers_;
  const std::function<void(const std::string&)> note_;
  std::map<std::string, Watched> files_;
  bool from_now_ = false;
  bool too_many_ = false;
};

}  // namespace gpuprof::record
