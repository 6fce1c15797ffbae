// One connection of the listener's: a process of the run, or the salvage that speaks in its place.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "libprof/launch/salvage_process.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {

// What is known of it. Owns its descriptors. The listener's thread only.
struct Connection {
  // `peer`: the process at the other end, as we see it: it may live in another namespace.
  Connection(int socket, std::uint32_t stream, const ucred& peer);
  // Salvage, which goes on with the stream of `dead`.
  Connection(const Connection& dead, std::unique_ptr<SalvageProcess> salvage);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // What to poll; -1: nothing.
  int watched() const;
  // Takes the id that the process gives itself, if it is one of its own. false: it is not, and the
  // kernel's stays.
  bool take_id(std::int64_t said);
  // What came of a slot is not for salvage.
  void came(std::span<const std::byte> batch);
  void came_in_part(std::span<const std::byte> payload);
  // Waits for the end of the process in place of its socket's, which it has closed: it may live on,
  // by mistake or to become a daemon. false: it is gone, or cannot be waited for.
  bool linger();

  int socket = -1;
  const std::uint32_t stream;
  std::int64_t process_id;  // the kernel's, until it says another
  ucred peer{};
  bool said_hello = false;
  wire::Role role = wire::Role::target;
  bool renamed = false;        // the id it gave is not its own
  std::uint64_t refused = 0;   // frames that it may not send
  bool arena_missing = false;  // we had no descriptor for it
  bool gave_up = false;        // collecting failed: there is nothing to salvage
  bool broken = false;         // what came could not be read any further
  bool said_goodbye = false;
  bool detached = false;   // its process lives on, and there is nothing left in its arena
  bool unwatched = false;  // its process may live, and cannot be waited for
  bool measured = false;   // CUPTI's range profiler was at work
  // The socket is closed and the process lives: `socket` is its pidfd. What is in its arena is read
  // when it has ended.
  bool lingers = false;
  // The process is gone, and this speaks in its place. `socket` is not used then.
  std::unique_ptr<SalvageProcess> salvage;
  int arena = -1;
  std::string cupti_path;
  std::map<std::uint32_t, std::uint32_t> received;  // generation of each slot's last batch
  std::vector<std::byte> first_part;                // of a batch in parts: its header
  wire::FrameAssembler frames;
};

using Connections = std::vector<std::unique_ptr<Connection>>;

}  // namespace gpuprof::launch
