#include "libprof/compute/memory/tracked_tables.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>

#include "libprof/base/saturating.hpp"

namespace gpuprof::memory {
namespace {

constexpr std::size_t most_appeared = 20;
constexpr std::int64_t least_appeared = 1 << 20;  // bytes

constexpr std::array reasons{"interval", "context", "module", "failure", "end"};

std::string function_name(reading::Profile& profile, bool runtime, std::int64_t cbid) {
  return profile.names().api(runtime ? reading::ApiDomain::runtime : reading::ApiDomain::driver,
                             cbid);
}

Value value_of(const std::optional<std::int64_t>& number) {
  return number ? Value(*number) : Value();
}

}  // namespace

void make_virtual_memory(const std::vector<VirtualUse>& uses, Table& made) {
  made = {.name = "memory_virtual",
          .columns = {{"process_id"},
                      {"device_id"},
                      {"allocations"},
                      {"made_peak_bytes", Type::bytes},
                      {"mapped_peak_bytes", Type::bytes},
                      {"unmapped_peak_bytes", Type::bytes},
                      {"end_made_bytes", Type::bytes},
                      {"end_mapped_bytes", Type::bytes}}};
  for (const VirtualUse& use : uses) {
    made.rows.push_back({use.process, use.device, use.allocations, use.made_peak, use.mapped_peak,
                         use.unmapped_peak, use.made, use.mapped});
  }
}

void make_failed_calls(reading::Profile& profile, const CallsRead& calls,
                       const std::vector<std::int64_t>& in_use,
                       const std::vector<DeviceReading>& readings, Table& made) {
  made = {.name = "memory_failed_calls",
          .columns = {{"process_id"},
                      {"device_id"},
                      {"function", Type::text},
                      {"bytes", Type::bytes},
                      {"time_ns"},
                      {"relative_time_ns"},
                      {"in_use_bytes", Type::bytes},
                      {"device_free_bytes", Type::bytes}}};
  for (std::size_t i = 0; i < calls.failed.size(); ++i) {
    const FailedCall& call = calls.failed[i];
    // The driver was queried right afterwards.
    Value free;
    for (auto reading = std::ranges::lower_bound(readings, call.time, {}, &DeviceReading::time);
         reading != readings.end(); ++reading) {
      if (call.device && reading->device != *call.device) continue;
      free = saturating_subtract(reading->total, reading->used);
      break;
    }
    made.rows.push_back({call.process, value_of(call.device),
                         function_name(profile, call.runtime, call.cbid), value_of(call.bytes),
                         call.time, saturating_subtract(call.time, profile.zero()), in_use[i],
                         free});
  }
}

void make_readings(reading::Profile& profile, const std::vector<DeviceReading>& readings,
                   const std::vector<std::int64_t>& known, Table& made) {
  made = {.name = "memory_readings",
          .columns = {{"device_id"},
                      {"time_ns"},
                      {"relative_time_ns"},
                      {"reason", Type::text},
                      {"used_bytes", Type::bytes},
                      {"total_bytes", Type::bytes},
                      {"known_bytes", Type::bytes},
                      {"unaccounted_bytes", Type::bytes}}};
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const DeviceReading& reading = readings[i];
    const auto reason = static_cast<std::size_t>(reading.reason);
    made.rows.push_back(
        {reading.device, reading.time, saturating_subtract(reading.time, profile.zero()),
         reason < reasons.size() ? Value(std::string(reasons[reason])) : Value(), reading.used,
         reading.total, known[i], saturating_subtract(reading.used, known[i])});
  }
}

void make_unaccounted(reading::Profile& profile, const std::vector<DeviceReading>& readings,
                      const std::vector<std::int64_t>& known, Table& made,
                      const std::function<void()>& check) {
  made = {.name = "memory_unaccounted",
          .columns = {{"device_id"},
                      {"bytes", Type::bytes},
                      {"time_ns"},
                      {"relative_time_ns"},
                      {"after_ns"},
                      {"function", Type::text},
                      {"process_id"},
                      {"function_ns"}}};
  struct Last {
    std::int64_t time = std::numeric_limits<std::int64_t>::min(), unaccounted = 0;
  };
  std::map<std::int64_t, Last> last;
  std::vector<Appeared> appeared;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const DeviceReading& reading = readings[i];
    Last& before = last[reading.device];
    const std::int64_t unaccounted = saturating_subtract(reading.used, known[i]);
    const std::int64_t more = saturating_subtract(unaccounted, before.unaccounted);
    if (more >= least_appeared) {
      appeared.push_back(
          {.from = before.time, .to = reading.time, .device = reading.device, .bytes = more});
    }
    before = {reading.time, unaccounted};
  }
  std::ranges::stable_sort(appeared, std::ranges::greater(), &Appeared::bytes);
  if (appeared.size() > most_appeared) appeared.resize(most_appeared);
  find_calls(profile.snapshot(), appeared, check);
  for (const Appeared& each : appeared) {
    const bool first = each.from == std::numeric_limits<std::int64_t>::min();
    const bool named = each.cbid >= 0;
    made.rows.push_back(
        {each.device, each.bytes, each.to, saturating_subtract(each.to, profile.zero()),
         first ? Value() : Value(each.from),
         named ? Value(function_name(profile, each.runtime, each.cbid)) : Value(),
         named ? Value(each.process) : Value(), named ? Value(each.overlap) : Value()});
  }
}

}  // namespace gpuprof::memory
