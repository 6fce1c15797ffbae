// gpuprof-salvage as seen by the listener: started, read from, and bounded.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libprof/base/helper_process.hpp"

namespace gpuprof::launch {

// Reads what a dead target left in its arena and sends it as the target did. The data is under the
// target's control, and the libcupti that decodes it may be too. Hence it runs with the privileges
// that the target had when it connected, without ways to gain more, and with limits on memory, time
// and output. Listener's thread only; nothing here waits.
class SalvageProcess {
 public:
  struct Job {
    std::string program;
    int arena = -1;  // the arena descriptor sent by the target
    uid_t user = 0;  // the target's when it connected, from SO_PEERCRED
    gid_t group = 0;
    std::string cupti;                                // the libcupti named by the target
    std::vector<std::string> offered;                 // those that we offered to its collector
    std::map<std::uint32_t, std::uint32_t> received;  // generation of each slot's last batch
    std::string kinds;                                // that were collected, separated by commas
    bool measured = false;                            // CUPTI's range profiler was in use
    std::chrono::milliseconds patience{};             // for an empty arena
  };

  // Null: there is nothing readable, or the program cannot be started.
  static std::unique_ptr<SalvageProcess> start(const Job& job);
  ~SalvageProcess();

  // The source of its frames, non-blocking; -1 once closed.
  int socket() const { return socket_; }
  void close_socket();
  // Accounts for bytes received from it. false: more than its arena can hold; it is killed.
  bool came(std::size_t bytes);

  // A descriptor that is readable when it has ended; -1: there is none.
  int watch() const { return helper_->watch(); }
  // When to call look() even if nothing came.
  HelperProcess::Clock::time_point next_look() const;
  // Call after each poll, once the received data was read. Kills it when its time is up. true: all
  // its output has been read, and it has ended or was given up.
  bool look(bool something_came);
  // For the user: why not everything was read; empty if everything was. Valid once it is over.
  std::string problem() const;

 private:
  SalvageProcess() = default;

  std::unique_ptr<HelperProcess> helper_;
  int socket_ = -1;
  std::uint64_t bytes_left_ = 0;
  std::string no_library_;   // why it has no libcupti
  std::string ended_for_;    // why we killed it
  bool last_round_ = false;  // it has ended; its output may still be in the socket
};

}  // namespace gpuprof::launch
