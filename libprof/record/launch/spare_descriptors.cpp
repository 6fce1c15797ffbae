#include "libprof/record/launch/spare_descriptors.hpp"

#include <algorithm>

namespace gpuprof::launch {

bool is_among_last(int file, rlim_t kept) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  kept = std::min(kept, limit.rlim_cur / 4);
  return static_cast<rlim_t>(file) >= limit.rlim_cur - kept;
}

}  // namespace gpuprof::launch
