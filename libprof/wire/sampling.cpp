#include "libprof/wire/sampling.hpp"

#include "libprof/base/text.hpp"

namespace gpuprof::wire {
namespace {

// No metric name contains one, and a path containing one is not found.
constexpr char between = '\n';

}  // namespace

void encode(Fields& fields, const PmConfig& config) {
  const auto number = [&](const char* name, std::uint64_t value) {
    fields.set(name, static_cast<std::int64_t>(value));
  };
  fields.set("pm_metrics", joined(config.metrics, "\n"));
  number("pm_optional", config.optional);
  number("pm_interval_ns", config.interval_ns);
  number("pm_interval_cycles", config.interval_cycles);
  number("pm_buffer", config.buffer_bytes);
  number("pm_keep_latest", config.keep_latest);
  fields.set("pm_cupti", joined(config.cupti, "\n"));
}

PmConfig decode_pm_config(const Fields& fields) {
  const auto number = [&](const char* name) {
    return static_cast<std::uint64_t>(fields.integer(name));
  };
  PmConfig config;
  config.optional = static_cast<std::uint32_t>(number("pm_optional"));
  config.interval_ns = number("pm_interval_ns");
  config.interval_cycles = number("pm_interval_cycles");
  config.buffer_bytes = number("pm_buffer");
  config.keep_latest = number("pm_keep_latest") != 0;
  for (std::string& name : split(fields.text("pm_metrics"), between)) {
    if (!name.empty()) config.metrics.push_back(std::move(name));
  }
  for (std::string& path : split(fields.text("pm_cupti"), between)) {
    if (!path.empty()) config.cupti.push_back(std::move(path));
  }
  return config;
}

}  // namespace gpuprof::wire
