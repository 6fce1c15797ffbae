#include "libprof/base/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace gpuprof {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // bits reversed

// The contribution of a byte that is followed by `place` zero bytes.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables tables = [] {
  Tables made{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? sum >> 1 ^ polynomial : sum >> 1;
    made[0][byte] = sum;
  }
  for (std::size_t place = 1; place < made.size(); ++place) {
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t before = made[place - 1][byte];
      made[place][byte] = before >> 8 ^ made[0][before & 0xff];
    }
  }
  return made;
}();

std::uint64_t word(const std::byte* bytes) {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint32_t by_tables(std::uint32_t sum, const std::byte* bytes, std::size_t count) {
  for (; count >= 8; bytes += 8, count -= 8) {
    const std::uint64_t mixed = word(bytes) ^ sum;
    sum = 0;
    for (std::size_t place = 0; place < 8; ++place) {
      sum ^= tables[7 - place][mixed >> 8 * place & 0xff];
    }
  }
  for (; count > 0; ++bytes, --count) {
    sum = sum >> 8 ^ tables[0][(sum ^ std::to_integer<std::uint32_t>(*bytes)) & 0xff];
  }
  return sum;
}

#if defined(__x86_64__)

// The instruction takes three cycles and one can begin in each cycle, so three blocks are summed in
// parallel, three times as fast. Their sums are then combined as if zeros had followed.
constexpr std::size_t stretch = 4096;

// How a sum changes when `stretch` zeros follow: a table for each of its bytes.
using Shift = std::array<std::array<std::uint32_t, 256>, 4>;

const Shift& shift_by_stretch() {
  static const Shift made = [] {
    // Linear: computing the sums of single bits is enough; the rest is combined from them.
    std::array<std::uint32_t, 32> bits{};
    const std::array<std::byte, stretch> zeros{};
    for (std::size_t bit = 0; bit < bits.size(); ++bit) {
      bits[bit] = by_tables(std::uint32_t{1} << bit, zeros.data(), zeros.size());
    }
    Shift shift{};
    for (std::size_t place = 0; place < shift.size(); ++place) {
      for (std::size_t byte = 0; byte < 256; ++byte) {
        for (std::size_t bit = 0; bit < 8; ++bit) {
          if (byte >> bit & 1) shift[place][byte] ^= bits[8 * place + bit];
        }
      }
    }
    return shift;
  }();
  return made;
}

std::uint32_t shifted(const Shift& shift, std::uint64_t sum) {
  return shift[0][sum & 0xff] ^ shift[1][sum >> 8 & 0xff] ^ shift[2][sum >> 16 & 0xff] ^
         shift[3][sum >> 24 & 0xff];
}

// Newer compilers require the second target name.
__attribute__((target("sse4.2,crc32"))) std::uint32_t by_instruction(std::uint32_t before,
                                                                     const std::byte* bytes,
                                                                     std::size_t count) {
  std::uint64_t sum = before;
  if (count >= 3 * stretch) {
    const Shift& shift = shift_by_stretch();
    for (; count >= 3 * stretch; bytes += 3 * stretch, count -= 3 * stretch) {
      std::uint64_t second = 0;
      std::uint64_t third = 0;
      for (std::size_t i = 0; i < stretch; i += 8) {
        sum = _mm_crc32_u64(sum, word(bytes + i));
        second = _mm_crc32_u64(second, word(bytes + stretch + i));
        third = _mm_crc32_u64(third, word(bytes + 2 * stretch + i));
      }
      sum = shifted(shift, shifted(shift, sum) ^ second) ^ third;
    }
  }
  for (; count >= 8; bytes += 8, count -= 8) sum = _mm_crc32_u64(sum, word(bytes));
  auto last = static_cast<std::uint32_t>(sum);
  for (; count > 0; ++bytes, --count)
    last = _mm_crc32_u8(last, std::to_integer<std::uint8_t>(*bytes));
  return last;
}

#elif defined(__ARM_FEATURE_CRC32)

std::uint32_t by_instruction(std::uint32_t sum, const std::byte* bytes, std::size_t count) {
  for (; count >= 8; bytes += 8, count -= 8) sum = __crc32cd(sum, word(bytes));
  for (; count > 0; ++bytes, --count) sum = __crc32cb(sum, std::to_integer<std::uint8_t>(*bytes));
  return sum;
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2");
#elif defined(__ARM_FEATURE_CRC32)
  constexpr bool has_instruction = true;  // the compiler may use it everywhere
#endif
#if defined(__x86_64__) || defined(__ARM_FEATURE_CRC32)
  if (has_instruction) return ~by_instruction(~before, bytes.data(), bytes.size());
#endif
  return ~by_tables(~before, bytes.data(), bytes.size());
}

}  // namespace gpuprof
