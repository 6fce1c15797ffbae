// Stands in for NVIDIA's libcheckpoint: keeps one number of the program's, and does what was
// measured of the real one: a checkpoint without a context is refused.
#include <cstddef>
#include <cstdint>

namespace {

struct Checkpoint {  // CUpti_Checkpoint
  std::size_t size;
  void* context;
  std::size_t device_mb, host_mb;
  std::uint8_t overwrite, optimizations;
  void* own;
};

constexpr int invalid_parameter = 1, not_initialized = 15;

std::int64_t memory = 0, saved = 0;

}  // namespace

extern "C" {

std::int64_t* fake_checkpoint_memory() { return &memory; }

int cuptiCheckpointSave(Checkpoint* checkpoint) {
  if (checkpoint->size != sizeof *checkpoint || checkpoint->own) return invalid_parameter;
  if (!checkpoint->context) return not_initialized;
  checkpoint->own = &saved;
  saved = memory;
  return 0;
}

int cuptiCheckpointRestore(Checkpoint* checkpoint) {
  if (checkpoint->own != &saved) return not_initialized;
  memory = saved;
  return 0;
}

int cuptiCheckpointFree(Checkpoint* checkpoint) {
  if (checkpoint->own != &saved) return invalid_parameter;
  checkpoint->own = nullptr;
  return 0;
}
}
