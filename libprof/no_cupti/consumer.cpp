// What consumer.hpp promises where CUPTI's headers were missing when gpuprof was built.
#include "libprof/sample/consumer.hpp"

#include "libprof/base/error.hpp"

namespace gpuprof::sample {
namespace {

[[noreturn]] void refuse() {
  throw Error("PM sampling needs CUPTI, and this gpuprof was built without its headers",
              "run scripts/setup and build again", ExitCode::no_metrics);
}

}  // namespace

std::unique_ptr<Consumer> open_consumer(int, const std::vector<std::string>&) { refuse(); }
DeviceChip chip_of_device(int, const std::vector<std::string>&) { refuse(); }

}  // namespace gpuprof::sample
