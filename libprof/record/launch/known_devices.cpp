#include "libprof/record/launch/known_devices.hpp"

#include <algorithm>
#include <cstddef>

namespace gpuprof::launch {
namespace {

constexpr std::size_t most_devices = 1024;
constexpr std::size_t longest_chip = 32;

bool is_sound(const ProbedDevice& device) {
  const auto plain = [](unsigned char c) { return c >= 0x20 && c != 0x7f; };
  const auto letter = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return device.index >= 0 && device.problem.empty() && !device.chip.empty() &&
         device.chip.size() <= longest_chip && std::ranges::all_of(device.chip, letter) &&
         std::ranges::all_of(device.name, plain) &&
         std::ranges::all_of(device.pm_sampling, plain) &&
         std::ranges::all_of(device.pc_sampling, plain);
}

bool are_sound(const std::vector<ProbedDevice>& devices) {
  return !devices.empty() && devices.size() <= most_devices &&
         std::ranges::all_of(devices, is_sound);
}

}  // namespace

std::optional<std::vector<ProbedDevice>> KnownDevices::read() const {
  const std::optional<std::string> text = kept_.read();
  if (!text) return std::nullopt;
  std::vector<ProbedDevice> devices = devices_in(*text);
  if (!are_sound(devices)) return std::nullopt;
  return devices;
}

void KnownDevices::keep(const std::vector<ProbedDevice>& devices) const {
  if (are_sound(devices)) kept_.keep(lines_of(devices));
}

}  // namespace gpuprof::launch
