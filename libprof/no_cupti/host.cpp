// What host.hpp promises where CUPTI's headers were missing when gpuprof was built.
#include "libprof/cupti/host.hpp"

#include "libprof/base/error.hpp"
#include "libprof/cupti/recorded.hpp"

namespace gpuprof::cupti {

struct Api {};
struct HostChip::Object {};

HostLibrary::HostLibrary(const std::vector<std::string>&) {
  throw Error("metrics need CUPTI, and this gpuprof was built without its headers",
              "run scripts/setup and build again", ExitCode::no_metrics);
}
HostLibrary::~HostLibrary() = default;
std::vector<std::string> HostLibrary::chips() const { return {}; }
std::string HostLibrary::path() const { return {}; }
std::vector<std::string> HostLibrary::single_pass_sets(const std::string&) const { return {}; }
std::vector<std::string> HostLibrary::metrics_in_set(const std::string&, const std::string&) const {
  return {};
}
std::size_t HostLibrary::most_per_pass(const std::string&, Counting) const { return 0; }

// There is no library, so nobody gets here.
HostChip::HostChip(std::shared_ptr<const HostLibrary>, std::string, Counting, Image, std::string) {}
HostChip::~HostChip() = default;
std::vector<std::string> HostChip::base_metrics(MetricType) const { return {}; }
std::vector<std::string> HostChip::sub_metrics(const std::string&, MetricType) const { return {}; }
std::optional<MetricProperties> HostChip::properties(const std::string&) const { return {}; }
bool HostChip::can_collect(std::span<const std::string>) const { return false; }
std::optional<Image> HostChip::config_image(std::span<const std::string>) const { return {}; }
std::size_t HostChip::passes(Image&) const { return 0; }
std::size_t HostChip::ranges(std::span<const std::uint8_t>) const { return 0; }
bool HostChip::evaluate(std::span<const std::uint8_t>, std::size_t, std::span<const char* const>,
                        double*) const {
  return false;
}

}  // namespace gpuprof::cupti
