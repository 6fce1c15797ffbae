// Whether times are read quickly, and agree with other machines.
#include <sys/timex.h>

#include <algorithm>
#include <array>

#include "libprof/doctor/check.hpp"
#include "libprof/doctor/facts.hpp"

namespace gpuprof::doctor {
namespace {

const std::string clock_folder = "/sys/devices/system/clocksource/clocksource0/";

// Each reading is a system call and a slow device.
bool is_slow(const std::string& source) {
  constexpr std::array<std::string_view, 5> slow{"hpet", "acpi_pm", "jiffies", "pit",
                                                 "refined-jiffies"};
  return std::ranges::find(slow, source) != slow.end();
}

Findings examine_clock(const System& system) {
  const std::string source = system.line(clock_folder + "current_clocksource");
  if (is_slow(source)) {
    const std::string others = system.line(clock_folder + "available_clocksource");
    const std::string what =
        "the clock is " + source + ", which is slow to read: every call that is traced costs more";
    if (others.find("tsc") == others.npos) return cannot(what, {"sudo reboot"});
    return cannot(what, {"echo tsc | sudo tee " + clock_folder + "current_clocksource"});
  }
  timex state{};
  if (!system.is_copy() && adjtimex(&state) >= 0 && (state.status & STA_UNSYNC) != 0) {
    return unknown(
        "the clock is not kept by NTP or PTP, as far as the kernel knows; times of "
        "several machines may not agree",
        {"sudo timedatectl set-ntp true"});
  }
  return ok(source.empty() ? "kept by NTP or PTP" : source);
}

}  // namespace

extern const Check clock_check{
    .name = "clock",
    .question = "Is the clock quick to read, and kept by NTP?",
    .examine = examine_clock,
};

}  // namespace gpuprof::doctor
