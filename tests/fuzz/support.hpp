// Shared by the fuzz targets.
//
// A target is a file that defines LLVMFuzzerTestOneInput(), and LLVMFuzzerCustomMutator() if
// changes made without knowledge of the format would not get past the first checks. It ends the
// process on any violation; sanitizers and libFuzzer's limits on time and memory do the rest.
// Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// libFuzzer's own mutation of some bytes, within `room`; returns the new size.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t room);

namespace gpuprof::fuzz {

using Input = std::span<const std::uint8_t>;
using Bytes = std::vector<std::uint8_t>;

inline std::span<const std::byte> as_bytes(Input input) { return std::as_bytes(input); }
inline std::string_view as_text(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

// Reports a violation that no sanitizer detects, and ends the process.
[[noreturn]] void finding(std::string_view what);

// A folder of this process, in memory if possible, removed when the process exits normally. After
// the first call $TMPDIR is inside it.
const std::string& folder();
void write_file(const std::string& path, Input bytes);
std::string read_file(const std::string& path);  // empty if there is none

// Numbers derived from the input that select how it is used, without occupying space in its format.
// As many as FUZZ_WAYS says, or one: fuzzing tries one way at a time, the gate several of each kept
// input.
std::vector<std::uint32_t> ways(Input input);
extern const std::size_t ways_at_a_time;

// Choices derived from libFuzzer's seed, so that a run can be repeated.
class Dice {
 public:
  explicit Dice(unsigned seed) : engine_(seed * 2654435761u + 1) {}

  std::uint32_t number() { return static_cast<std::uint32_t>(engine_()); }
  std::size_t below(std::size_t end) { return end ? number() % end : 0; }
  bool one_in(std::size_t count) { return below(count) == 0; }
  template <class List>
  auto& of(List& list) {
    return list[below(std::size(list))];
  }
  // Typical edge cases: small values, powers of two and their neighbors, all bits.
  std::uint64_t odd_number();

 private:
  std::minstd_rand engine_;
};

// Changes some bytes but not the length.
void spoil(std::span<std::uint8_t> bytes, Dice& dice);
// libFuzzer's mutation, which may remove bytes or add up to `more`.
void mutate(Bytes& bytes, std::size_t more);

}  // namespace gpuprof::fuzz
