// Options for what reports include, and for which kernels metrics are measured.
#include "apps/gpuprof/option/setters.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::app {
namespace {

Set time(reading::Moment& (*target)(Options&)) {
  return [=](Options& options, const std::string& value) -> std::optional<Refusal> {
    const auto moment = reading::parse_moment(value);
    if (!moment) return Refusal{.takes = std::string(reading::moment_words)};
    target(options) = *moment;
    return {};
  };
}

// Splits at single colons; "::" is part of a name.
std::vector<std::string> split_path(const std::string& value) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (value[i] != ':') {
      parts.back() += value[i];
    } else if (parts.size() == 3 && i + 1 < value.size() && value[i + 1] == ':') {
      parts.back() += "::";
      ++i;
    } else {
      parts.emplace_back();
    }
  }
  return parts;
}

// A name, or CONTEXT:STREAM:NAME:INVOCATION, as in nvprof.
std::optional<Refusal> set_kernels(Options& options, const std::string& value) {
  std::vector<std::string> parts = split_path(value);
  if (parts.size() != 4) parts = {"", "", value, ""};
  for (const std::string& part : parts) {
    if (const auto wrong = wrong_expression(part)) return wrong;
  }
  MetricRequest& scope = options.metrics.scope;
  scope.contexts = parts[0];
  scope.streams = parts[1];
  scope.kernels = parts[2];
  scope.invocations = parts[3];
  options.reports.filter.kernels = parts[2];
  return {};
}

std::optional<Refusal> set_devices(Options& options, const std::string& value) {
  std::vector<std::int64_t> devices;
  for (const std::string& word : split(value, ',')) {
    if (value == "all") break;
    const auto device = parse<std::uint32_t>(word);
    if (!device) return Refusal{.takes = "all, or numbers of devices with commas between"};
    devices.push_back(*device);
  }
  options.reports.filter.devices = devices;
  options.metrics.scope.devices.assign(devices.begin(), devices.end());
  return {};
}

}  // namespace

std::vector<Option> filter_options() {
  return {
      {.name = "kernels",
       .argument = "REGEX",
       .help = "Kernels whose name contains this regular expression\n"
               "Case matters. Copies and sets are left out.",
       .is = common,
       .set = set_kernels},
      {.name = "devices",
       .argument = "LIST",
       .help = "GPU work of these devices: all, or numbers with commas between",
       .is = common,
       .set = set_devices},
      {.name = "from",
       .argument = "TIME",
       .help = "Records that begin at this time or later\n"
               "Times count from the run's first record, as in traces: 1.5 or 1.5s, 20ms, 7us, "
               "12ns. nvtx:NAME is where the first NVTX range of that name begins, and with --to "
               "where it ends.",
       .is = ours | common,
       .set = time([](Options& o) -> reading::Moment& { return o.reports.filter.from; })},
      {.name = "to",
       .argument = "TIME",
       .help = "Records that begin before this time",
       .is = ours | common,
       .set = time([](Options& o) -> reading::Moment& { return o.reports.filter.to; })},
      {.name = "nvtx",
       .argument = "NAME",
       .help = "The same as --from nvtx:NAME --to nvtx:NAME",
       .is = ours | common,
       .set =
           [](Options& o, const std::string& value) {
             o.reports.filter.from =
                 o.reports.filter.to = {.range = value, .text = "nvtx:" + value};
             return std::optional<Refusal>();
           }},
  };
}

}  // namespace gpuprof::app
