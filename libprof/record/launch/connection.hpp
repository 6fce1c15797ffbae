// One connection of the listener: a process of the run, or the salvage program that replaces it.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libprof/record/launch/salvage_process.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {

// State of one connection. Owns its descriptors. Listener's thread only.
struct Connection {
  // `peer`: the process at the other end, as we see it: it may be in another namespace.
  Connection(int socket, std::uint32_t stream, const ucred& peer);
  // Salvage, which continues the stream of `dead`.
  Connection(const Connection& dead, std::unique_ptr<SalvageProcess> salvage);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The descriptor to poll; -1: none.
  int watched() const;
  // Adopts the id that the process claims, if that is one of its own. false: it is not, and the
  // kernel's is kept.
  bool take_id(std::int64_t said);
  // Notes received batches, so that salvage skips their slots.
  void came(std::span<const std::byte> batch);
  void came_in_part(std::span<const std::byte> payload);
  // Waits for the process to end instead of its socket, which it has closed: it may live on, by
  // mistake or to become a daemon. false: it is gone, or cannot be waited for.
  bool linger();

  int socket = -1;
  const std::uint32_t stream;
  std::int64_t process_id;  // the kernel's, unless it claims another
  ucred peer{};
  bool said_hello = false;
  wire::Role role = wire::Role::target;
  bool renamed = false;        // it claimed an id that is not its own
  std::uint64_t refused = 0;   // frames that it must not send
  bool arena_missing = false;  // we had no descriptor left for it
  bool gave_up = false;        // collecting failed: there is nothing to salvage
  bool broken = false;         // the data could not be read any further
  bool said_goodbye = false;
  bool detached = false;      // its process lives on, and its arena is empty
  std::optional<int> status;  // how its process ends, as from waitpid, where that is known
  bool orderly = false;       // its collector ended in order
  bool unwatched = false;     // its process may be alive, and cannot be waited for
  bool measured = false;      // CUPTI's range profiler was in use
  // The socket is closed and the process is alive: `socket` is its pidfd. Its arena is read when it
  // has ended.
  bool lingers = false;
  // The process is gone, and this replaces it. `socket` is then unused.
  std::unique_ptr<SalvageProcess> salvage;
  int arena = -1;
  std::string cupti_path;
  std::map<std::uint32_t, std::uint32_t> received;  // generation of each slot's last batch
  std::vector<std::byte> first_part;                // the header of a batch in parts
  wire::FrameAssembler frames;
};

using Connections = std::vector<std::unique_ptr<Connection>>;

}  // namespace gpuprof::launch
