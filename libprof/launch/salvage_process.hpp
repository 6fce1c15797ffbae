// gpuprof-salvage as the listener sees it: started, listened to, bounded.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libprof/launch/helper_process.hpp"

namespace gpuprof::launch {

// Reads what a dead target left in its arena and speaks as the target did. What it reads is the
// target's making, and so may be the libcupti that decodes it. Hence it runs with the rights that
// the target had when it connected, without ways to more, and with limits on memory, time and what
// it sends. The listener's thread only; nothing here waits.
class SalvageProcess {
 public:
  struct Job {
    std::string program;
    int arena = -1;  // what the target sent as its arena
    uid_t user = 0;  // the target's when it connected, as SO_PEERCRED tells
    gid_t group = 0;
    std::string cupti;                                // the libcupti that the target says it used
    std::vector<std::string> offered;                 // those that we named to its collector
    std::map<std::uint32_t, std::uint32_t> received;  // generation of each slot's last batch
    std::string kinds;                                // that were collected, with commas between
    bool measured = false;                            // CUPTI's range profiler was at work
    std::chrono::milliseconds patience{};             // for an arena of no size
  };

  // Null: there is nothing that could be read, or the program cannot be started.
  static std::unique_ptr<SalvageProcess> start(const Job& job);
  ~SalvageProcess();

  // Where its frames come from, not blocking; -1 once it was closed.
  int socket() const { return socket_; }
  void close_socket();
  // So many bytes came from it. false: more than there can be in its arena. It is ended.
  bool came(std::size_t bytes);

  // A descriptor that is readable when it has ended; -1: there is none.
  int watch() const { return helper_->watch(); }
  // When look() is to be called though nothing came.
  HelperProcess::Clock::time_point next_look() const;
  // After each poll, once what came was read. Ends it when its time is over. true: all has been
  // read that will come, and it has ended or was given up.
  bool look(bool something_came);
  // Why not all was read; empty: all was. For users. Valid once it is over.
  std::string problem() const;

 private:
  SalvageProcess() = default;

  std::unique_ptr<HelperProcess> helper_;
  int socket_ = -1;
  std::uint64_t bytes_left_ = 0;
  std::string no_library_;   // why it has no libcupti
  std::string ended_for_;    // why we ended it
  bool last_round_ = false;  // it has ended; what it sent may still be in the socket
};

}  // namespace gpuprof::launch
