// gpuprof-salvage: reads what a dead target left in its arena and sends it on as if the target
// still did. The launcher starts it with the arena as descriptor 3 and a socket as descriptor 4.
//
// A program of its own, because a buffer that was torn in the middle of a write may crash CUPTI.
#include "libprof/collect/salvage.hpp"

int main() {
  constexpr int arena = 3;
  constexpr int socket = 4;
  return gpuprof::collect::salvage(arena, socket) ? 0 : 1;
}
