// What the fuzz targets share.
//
// A target is a file that defines LLVMFuzzerTestOneInput(), and LLVMFuzzerCustomMutator() where
// changes made without knowing the format would not get behind the first checks. It ends the
// process for whatever must not be; sanitizers and libFuzzer's limits on time and memory do the
// rest. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// libFuzzer's own changes to some bytes, within `room`; gives the new size.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t room);

namespace gpuprof::fuzz {

using Input = std::span<const std::uint8_t>;
using Bytes = std::vector<std::uint8_t>;

inline std::span<const std::byte> as_bytes(Input input) { return std::as_bytes(input); }
inline std::string_view as_text(Input input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

// Something that no sanitizer sees and must not be: says what, and ends the process.
[[noreturn]] void finding(std::string_view what);

// A folder of this process's own, in memory where there is such a place; gone when the process ends
// in order. $TMPDIR is in it from the first call on.
const std::string& folder();
void write_file(const std::string& path, Input bytes);
std::string read_file(const std::string& path);  // empty: there is none

// Numbers that follow from the input: how it is to be used, without a place in its format.
// libFuzzer takes one way at a time; run_inputs, which has few inputs, takes many.
std::vector<std::uint32_t> ways(Input input);
extern std::size_t ways_at_a_time;

// Choices that follow from libFuzzer's seed, so that a run can be repeated.
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
  // The values where things break: small ones, powers of two and their neighbours, all bits.
  std::uint64_t odd_number();

 private:
  std::minstd_rand engine_;
};

// Changes some bytes and leaves the length.
void spoil(std::span<std::uint8_t> bytes, Dice& dice);
// libFuzzer's changes, which may take away bytes or add up to `more`.
void mutate(Bytes& bytes, std::size_t more);

}  // namespace gpuprof::fuzz
