// gpuprof-salvage: reads what a dead target left in its arena and sends it on as if the target
// still did. The launcher starts it with the arena as descriptor 3, a socket as descriptor 4, and
// what it is to do (wire/FORMAT.md) in the file that is descriptor 5.
//
// A program of its own, because a buffer that was torn in the middle of a write may crash CUPTI,
// and because neither the arena nor, at times, CUPTI are ours: see sandbox.hpp.
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "apps/salvage/sandbox.hpp"
#include "libprof/base/whole.hpp"
#include "libprof/collect/salvage.hpp"

int main() {
  using namespace gpuprof;
  constexpr int arena = 3;
  constexpr int socket = 4;
  constexpr int config_file = 5;
  struct stat status {};
  if (fstat(config_file, &status) != 0) return 1;
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  if (!read_whole(config_file, bytes, 0)) return 1;
  close(config_file);
  const wire::Fields config = wire::Decoder(bytes).fields();
  if (fstat(arena, &status) != 0 ||
      !salvage::enter_sandbox(config, static_cast<std::uint64_t>(status.st_size))) {
    return 1;
  }
  return collect::salvage(arena, socket, config) ? 0 : 1;
}
