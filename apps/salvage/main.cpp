// gpuprof-salvage: reads what a dead target left in its arena and sends it on as the target did.
// The launcher starts it with the arena as descriptor 3, a socket as descriptor 4, and its
// instructions (wire/FORMAT.md) in a file as descriptor 5.
//
// A separate program, because a buffer torn in the middle of a write may crash CUPTI, and because
// neither the arena nor, sometimes, CUPTI is ours: see sandbox.hpp.
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
