// PyTorch snapshots: untrusted pickles. What is read from one must be consistent.
#include <cstdint>
#include <sstream>
#include <string>

#include "libprof/base/error.hpp"
#include "libprof/compute/memory/torch_snapshot.hpp"
#include "tests/fuzz/support.hpp"

namespace gpuprof::fuzz {
namespace {

void check_segments(const memory::TorchSnapshot& snapshot) {
  const memory::TorchSegment* before = nullptr;
  for (const memory::TorchSegment& each : snapshot.segments) {
    if (each.address < 0 || each.bytes < 0 || each.end() < each.address) finding("no place");
    if (each.allocated < 0 || each.allocated > each.active || each.free() < 0) {
      finding("more is in use than there is");
    }
    if (each.largest_free < 0 || each.largest_free > each.bytes) finding("a block is too large");
    if (before && (each.device < before->device ||
                   (each.device == before->device && each.address < before->end()))) {
      finding("segments overlap");
    }
    before = &each;
  }
}

}  // namespace
}  // namespace gpuprof::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpuprof;
  std::istringstream pickle(std::string(fuzz::as_text({data, size})));
  try {
    fuzz::check_segments(memory::read_torch_snapshot(pickle, "snapshot", [] {}));
  } catch (const Error& error) {
    if (error.exit_code() != ExitCode::import_failed) fuzz::finding("another exit code");
  }
  return 0;
}
