// The images that travel between the two sides of the profiling API, and lie in memory of the
// caller: the config image, and the counter data image, which is a header and room for ranges.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>

#include "tests/fake_cupti/cupti/metrics.hpp"

namespace fake {

struct ConfigImage {
  static constexpr std::uint64_t right_magic = 0x316769666e6f6366;
  std::uint64_t magic = right_magic;
  std::uint32_t chip = 0;
  Plan plan;
};

struct RangeData {
  char name[128] = "";
  Counts counts;
  std::uint64_t metrics = 0;  // what the configuration asked for
  std::uint64_t passes = 0;   // a bit for each pass that there was
  std::uint32_t needed = 1;   // passes
  std::uint64_t start = 0;    // of a sample, ns
  std::uint64_t end = 0;
};

inline std::uint64_t all_passes(const RangeData& range) {
  return (std::uint64_t{1} << range.needed) - 1;
}

struct CounterDataImage {
  static constexpr std::uint64_t right_magic = 0x3172746e756f6366;
  std::uint64_t magic = right_magic;
  std::uint32_t chip = 0;
  std::uint32_t capacity = 0;
  std::uint32_t ranges = 0;
  std::uint32_t device = 0;

  static std::size_t size(std::size_t capacity) {
    return sizeof(CounterDataImage) + capacity * sizeof(RangeData);
  }
};

struct PartitionInfo {
  static constexpr std::uint64_t right_magic = 0x6e6f697469747261;
  std::uint64_t magic = right_magic;
  std::uint64_t instances = 0;
};

// Images need not be aligned.
template <class Image>
std::optional<Image> read_image(const std::uint8_t* bytes, std::size_t size) {
  Image image;
  if (!bytes || size < sizeof image) return {};
  std::memcpy(&image, bytes, sizeof image);
  if (image.magic != Image::right_magic) return {};
  return image;
}

inline std::optional<CounterDataImage> read_counter_data(const std::uint8_t* bytes,
                                                         std::size_t size) {
  auto image = read_image<CounterDataImage>(bytes, size);
  if (image && size < CounterDataImage::size(image->capacity)) return {};
  return image;
}

inline std::size_t offset_of_range(std::size_t index) {
  return sizeof(CounterDataImage) + index * sizeof(RangeData);
}

inline RangeData read_range(const std::uint8_t* image, std::size_t index) {
  RangeData range;
  std::memcpy(&range, image + offset_of_range(index), sizeof range);
  return range;
}

}  // namespace fake
