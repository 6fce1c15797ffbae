#include "libprof/metrics/launch_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/whole.hpp"

namespace gpuprof::metrics {
namespace {

std::uint32_t shape_of(const wire::MeasuredRange& range, const std::vector<std::string>& names) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  const auto mix = [&](std::string_view bytes) {
    for (const char byte : bytes) {
      hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3u;
    }
  };
  if (range.name > 0) mix(names[range.name - 1]);
  mix({reinterpret_cast<const char*>(range.grid), sizeof range.grid});
  mix({reinterpret_cast<const char*>(range.block), sizeof range.block});
  // 0 is what a hole in the file reads as.
  return static_cast<std::uint32_t>(hash ^ (hash >> 32)) | 1;
}

}  // namespace

std::uint64_t LaunchTable::place_of(const wire::MeasuredRange& range) {
  return (range.ordinal - 1) * sizeof(Entry);
}

LaunchTable::~LaunchTable() {
  for (const auto& [key, file] : files_) close(file);
}

void LaunchTable::add(std::uint32_t process, const wire::CounterData& launches) {
  int& file = files_.try_emplace({process, launches.context_number}, -1).first->second;
  if (file < 0) file = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  for (const wire::MeasuredRange& range : launches.ranges) {
    const Entry entry{range.correlation, shape_of(range, launches.names)};
    if (file < 0 || !write_whole(file, std::as_bytes(std::span(&entry, 1)), place_of(range))) {
      throw Error("launches cannot be kept in " + folder_ + ": " + std::strerror(errno),
                  "choose a folder with room by TMPDIR", ExitCode::output_failed);
    }
  }
}

std::uint64_t LaunchTable::launches(std::uint32_t process) const {
  std::uint64_t most = 0;
  for (const auto& [key, file] : files_) {
    const off_t size = key.first == process ? lseek(file, 0, SEEK_END) : 0;
    most = std::max(most, static_cast<std::uint64_t>(std::max<off_t>(size, 0)) / sizeof(Entry));
  }
  return most;
}

std::uint64_t LaunchTable::join(std::uint32_t process, std::uint32_t context_number,
                                wire::MetricValues& values) const {
  const auto found = files_.find({process, context_number});
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < values.ranges.size(); ++i) {
    wire::MeasuredRange& range = values.ranges[i];
    if (range.kind != wire::RangeKind::kernel) continue;
    Entry entry{};
    if (found != files_.end()) {
      read_whole(found->second, std::as_writable_bytes(std::span(&entry, 1)), place_of(range));
    }
    range.correlation = 0;
    if (entry.shape == shape_of(range, values.names)) {
      range.correlation = entry.correlation;
      if (range.note > 0 && values.notes[range.note - 1] == wire::other_launch) ++lost;
      continue;
    }
    ++lost;
    const std::string text = entry.shape == 0 ? "the first run has no such launch"
                                              : "the first run launched another kernel here";
    auto note = std::ranges::find(values.notes, text);
    if (note == values.notes.end()) note = values.notes.insert(note, text);
    range.note = static_cast<std::uint16_t>(note - values.notes.begin() + 1);
    std::fill_n(values.values.begin() + static_cast<std::ptrdiff_t>(i * values.metrics.size()),
                values.metrics.size(), std::numeric_limits<double>::quiet_NaN());
  }
  return lost;
}

}  // namespace gpuprof::metrics
