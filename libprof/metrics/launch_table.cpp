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
#include "libprof/wire/stream_error.hpp"

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
  // 0 is read from holes in the file.
  return static_cast<std::uint32_t>(hash ^ (hash >> 32)) | 1;
}

}  // namespace

LaunchTable::~LaunchTable() {
  if (file_ >= 0) close(file_);
}

std::optional<std::uint64_t> LaunchTable::place_of(std::uint32_t process, std::uint32_t context,
                                                   std::uint64_t ordinal) const {
  const std::uint64_t number = ordinal - 1;
  const auto block = blocks_.find({process, context, number / entries_per_block});
  if (block == blocks_.end()) return std::nullopt;
  return (block->second * entries_per_block + number % entries_per_block) * sizeof(Entry);
}

std::optional<std::uint64_t> LaunchTable::place_for(std::uint32_t process, std::uint32_t context,
                                                    std::uint64_t ordinal) {
  if (const auto place = place_of(process, context, ordinal)) return place;
  Process& its = processes_[process];
  if (its.blocks >= most_blocks_ || blocks_.size() >= wire::max_run_launch_blocks) {
    return std::nullopt;
  }
  ++its.blocks;
  blocks_.try_emplace({process, context, (ordinal - 1) / entries_per_block}, blocks_.size());
  return place_of(process, context, ordinal);
}

void LaunchTable::add(std::uint32_t process, const wire::CounterData& launches) {
  constexpr std::uint64_t highest = std::uint64_t{1} << 48;
  if (file_ < 0) file_ = open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  for (const wire::MeasuredRange& range : launches.ranges) {
    if (range.ordinal == 0 || range.ordinal > highest) {
      throw wire::StreamError("a launch has the number " + std::to_string(range.ordinal));
    }
    const auto place = place_for(process, launches.context_number, range.ordinal);
    if (!place) continue;
    const Entry entry{range.correlation, shape_of(range, launches.names)};
    if (file_ < 0 || !write_whole(file_, std::as_bytes(std::span(&entry, 1)), *place)) {
      throw Error("launches cannot be kept in " + folder_ + ": " + std::strerror(errno),
                  "choose a folder with room by TMPDIR", ExitCode::output_failed);
    }
    std::uint64_t& last = processes_[process].launches[launches.context_number];
    last = std::max(last, range.ordinal);
  }
}

std::uint64_t LaunchTable::launches(std::uint32_t process) const {
  const auto found = processes_.find(process);
  std::uint64_t most = 0;
  if (found == processes_.end()) return most;
  for (const auto& [context, last] : found->second.launches) most = std::max(most, last);
  return most;
}

std::uint64_t LaunchTable::join(std::uint32_t process, std::uint32_t context_number,
                                MeasuredValues& values) const {
  std::uint64_t lost = 0;
  for (std::size_t i = 0; i < values.ranges.size(); ++i) {
    wire::MeasuredRange& range = values.ranges[i];
    if (range.kind != wire::RangeKind::kernel) continue;
    Entry entry{};
    if (const auto place = place_of(process, context_number, range.ordinal)) {
      read_whole(file_, std::as_writable_bytes(std::span(&entry, 1)), *place);
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
