#include "libprof/record/launch/connection.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "libprof/base/process_stat.hpp"

namespace gpuprof::launch {
namespace {

constexpr std::uint32_t most_slots = 1 << 16;  // the most an arena can be asked to have

// Whether the process that the kernel knows as `process` may call itself `said`: it has a different
// id in a PID namespace. Nothing is known about a process in a namespace outside ours (0).
bool is_id_of(pid_t process, std::int64_t said) {
  if (process <= 0 || said == process) return true;
  const auto numbers = process_numbers("/proc/" + std::to_string(process));
  return std::ranges::find(numbers, said) != numbers.end();
}

}  // namespace

Connection::Connection(int its_socket, std::uint32_t its_stream, const ucred& its_peer)
    : socket(its_socket), stream(its_stream), process_id(its_peer.pid), peer(its_peer) {}

Connection::Connection(const Connection& dead, std::unique_ptr<SalvageProcess> its_salvage)
    : stream(dead.stream),
      process_id(dead.process_id),
      said_hello(true),
      renamed(dead.renamed),
      refused(dead.refused),
      status(dead.status),
      orderly(dead.orderly),
      salvage(std::move(its_salvage)) {}

Connection::~Connection() {
  if (socket >= 0) close(socket);
  if (arena >= 0) close(arena);
}

int Connection::watched() const {
  if (!salvage) return socket;
  return salvage->socket() >= 0 ? salvage->socket() : salvage->watch();
}

bool Connection::take_id(std::int64_t said) {
  renamed = !is_id_of(peer.pid, said);
  if (!renamed) process_id = said;
  return !renamed;
}

void Connection::came(std::span<const std::byte> batch) {
  if (batch.size() < sizeof(wire::BatchHeader) || salvage) return;
  const auto header = wire::load<wire::BatchHeader>(batch.data());
  if (header.slot < most_slots) received[header.slot] = header.generation;
}

void Connection::came_in_part(std::span<const std::byte> payload) {
  if (payload.size() < sizeof(wire::BatchPartHeader)) return;
  const auto part = wire::load<wire::BatchPartHeader>(payload.data());
  const auto bytes = payload.subspan(sizeof part);
  if (part.number == 0) {
    const std::size_t header = std::min(bytes.size(), sizeof(wire::BatchHeader));
    first_part.assign(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header));
  }
  if (part.number + 1 == part.parts) came(std::exchange(first_part, {}));
}

bool Connection::linger() {
  const int process = peer.pid > 0 ? static_cast<int>(syscall(SYS_pidfd_open, peer.pid, 0)) : -1;
  if (process < 0) {
    unwatched = peer.pid <= 0 || errno != ESRCH;
    return false;
  }
  close(socket);
  socket = process;
  lingers = true;
  return true;
}

}  // namespace gpuprof::launch
