// Occupancy against CUDA's own calculator, which is a header of the toolkit, for chips and shapes
// of all kinds.
#include <array>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>

#include "libprof/compute/occupancy.hpp"

// Without CUDA's headers the cases with known answers remain.
#if __has_include(<cuda_occupancy.h>)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop
#define HAS_CALCULATOR 1
#endif

using gpuprof::compute::DeviceLimits;
using gpuprof::compute::LaunchShape;
using gpuprof::compute::Occupancy;
using gpuprof::compute::occupancy;

namespace {

constexpr DeviceLimits h200{.compute_major = 9,
                            .compute_minor = 0,
                            .multiprocessors = 132,
                            .warps = 64,
                            .blocks = 32,
                            .registers = 65536,
                            .shared_memory = 233472,
                            .registers_per_block = 65536,
                            .reserved_shared_memory_per_block = 1024};

constexpr std::int64_t kib = 1024;

#ifdef HAS_CALCULATOR
// Compute capability, warps, shared memory of a multiprocessor and of a block.
struct Chip {
  std::int64_t major, minor, warps, shared, per_block;
};
constexpr Chip chips[] = {
    {7, 0, 64, 96 * kib, 96 * kib},    {7, 5, 32, 64 * kib, 64 * kib},
    {8, 0, 64, 164 * kib, 163 * kib},  {8, 6, 48, 100 * kib, 99 * kib},
    {8, 7, 48, 164 * kib, 163 * kib},  {8, 9, 48, 100 * kib, 99 * kib},
    {9, 0, 64, 228 * kib, 227 * kib},  {10, 0, 64, 228 * kib, 227 * kib},
    {10, 3, 64, 228 * kib, 227 * kib}, {11, 0, 48, 228 * kib, 227 * kib},
    {12, 0, 48, 100 * kib, 99 * kib},  {12, 1, 48, 100 * kib, 99 * kib},
};
#endif

}  // namespace

TEST_CASE("occupancy: launches of an H200 whose answers are known") {
  const auto found =
      occupancy(h200, {.blocks = 3907, .threads_per_block = 256, .registers_per_thread = 16});
  REQUIRE(found);
  CHECK(found->blocks_per_multiprocessor == 8);
  CHECK(found->limits == Occupancy::warps);
  CHECK(found->theoretical == 1);
  CHECK(found->waves == Approx(3907.0 / (8 * 132)));
  CHECK(found->tail_share == Approx(1 - 3907.0 / (8 * 132) / 4));

  const auto fat =
      occupancy(h200, {.blocks = 8, .threads_per_block = 128, .registers_per_thread = 74});
  REQUIRE(fat);
  CHECK(fat->blocks_per_multiprocessor == 6);
  CHECK(fat->limits == Occupancy::registers);
  CHECK(fat->theoretical == 0.375);

  const auto shared =
      occupancy(h200, {.blocks = 1, .threads_per_block = 32, .shared_memory_per_block = 48 * kib});
  REQUIRE(shared);
  CHECK(shared->blocks_per_multiprocessor == 4);
  CHECK(shared->limits == Occupancy::shared_memory);

  const auto small = occupancy(h200, {.blocks = 1, .threads_per_block = 1});
  REQUIRE(small);
  CHECK(small->blocks_per_multiprocessor == 32);
  CHECK(small->limits == Occupancy::blocks);
  // Whole waves leave nothing empty.
  CHECK(occupancy(h200, {.blocks = 2 * 132 * 2, .threads_per_block = 1024})->tail_share == 0);
}

// Limits as the CUDA programming guide has them, blocks counted by hand; no calculator is involved.
TEST_CASE("occupancy: blocks on each compute capability from 7.5 to 12.1") {
  struct Row {
    std::int64_t major, minor, warps, blocks, shared_kib;
    std::array<std::int64_t, 5> fit;  // for each of `shapes`
  };
  constexpr LaunchShape shapes[] = {
      {.blocks = 1, .threads_per_block = 256, .registers_per_thread = 32},
      {.blocks = 1, .threads_per_block = 128, .registers_per_thread = 128},
      {.blocks = 1, .threads_per_block = 32, .registers_per_thread = 16},
      {.blocks = 1, .threads_per_block = 1024, .registers_per_thread = 64},
      {.blocks = 1, .threads_per_block = 256, .shared_memory_per_block = 48 * kib},
  };
  constexpr Row rows[] = {
      {7, 5, 32, 16, 64, {4, 4, 16, 1, 1}},   {8, 0, 64, 32, 164, {8, 4, 32, 1, 3}},
      {8, 6, 48, 16, 100, {6, 4, 16, 1, 2}},  {8, 7, 48, 16, 164, {6, 4, 16, 1, 3}},
      {8, 9, 48, 24, 100, {6, 4, 24, 1, 2}},  {9, 0, 64, 32, 228, {8, 4, 32, 1, 4}},
      {10, 0, 64, 32, 228, {8, 4, 32, 1, 4}}, {10, 3, 64, 32, 228, {8, 4, 32, 1, 4}},
      {11, 0, 48, 24, 228, {6, 4, 24, 1, 4}}, {12, 0, 48, 24, 100, {6, 4, 24, 1, 2}},
      {12, 1, 48, 24, 100, {6, 4, 24, 1, 2}},
  };
  for (const Row& row : rows) {
    const DeviceLimits device{.compute_major = row.major,
                              .compute_minor = row.minor,
                              .multiprocessors = 10,
                              .warps = row.warps,
                              .blocks = row.blocks,
                              .registers = 65536,
                              .shared_memory = row.shared_kib * kib,
                              .registers_per_block = 65536,
                              .reserved_shared_memory_per_block = row.major >= 8 ? 1024 : 0};
    for (std::size_t i = 0; i < row.fit.size(); ++i) {
      CAPTURE(row.major, row.minor, i);
      const auto found = occupancy(device, shapes[i]);
      CHECK((found ? found->blocks_per_multiprocessor : 0) == row.fit[i]);
    }
  }
}

TEST_CASE("occupancy: what is not known or cannot run has none") {
  const LaunchShape shape{.blocks = 1, .threads_per_block = 32};
  CHECK_FALSE(occupancy({}, shape));
  DeviceLimits other = h200;
  other.compute_major = 6;
  CHECK_FALSE(occupancy(other, shape));
  other.compute_major = 99;
  CHECK_FALSE(occupancy(other, shape));
  CHECK_FALSE(occupancy(h200, {}));
  CHECK_FALSE(occupancy(h200, {.blocks = 1, .threads_per_block = 1025}));
  CHECK_FALSE(
      occupancy(h200, {.blocks = 1, .threads_per_block = 1024, .registers_per_thread = 128}));
  CHECK_FALSE(occupancy(
      h200, {.blocks = 1, .threads_per_block = 32, .shared_memory_per_block = 300 * kib}));
  for (const std::int64_t nonsense : {INT64_MIN, std::int64_t{-1}, INT64_MAX}) {
    CHECK_FALSE(occupancy(h200, {.blocks = 1, .threads_per_block = nonsense}));
    CHECK_FALSE(
        occupancy(h200, {.blocks = 1, .threads_per_block = 32, .registers_per_thread = nonsense}));
    CHECK_FALSE(occupancy(
        h200, {.blocks = 1, .threads_per_block = 32, .shared_memory_per_block = nonsense}));
    other = h200;
    other.registers = nonsense;
    CHECK_FALSE(occupancy(other, shape));
  }
}

#ifdef HAS_CALCULATOR
TEST_CASE("occupancy: equal to CUDA's calculator for random shapes") {
  std::mt19937 random(7);
  const auto number = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  for (const Chip& chip : chips) {
    cudaOccDeviceProp properties;
    properties.computeMajor = static_cast<int>(chip.major);
    properties.computeMinor = static_cast<int>(chip.minor);
    properties.maxThreadsPerBlock = 1024;
    properties.maxThreadsPerMultiprocessor = static_cast<int>(32 * chip.warps);
    properties.regsPerBlock = properties.regsPerMultiprocessor = 65536;
    properties.warpSize = 32;
    properties.sharedMemPerBlock = 48 * kib;
    properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(chip.shared);
    properties.sharedMemPerBlockOptin = static_cast<std::size_t>(chip.per_block);
    properties.numSms = 100;
    properties.reservedSharedMemPerBlock = chip.major >= 8 ? 1024 : 0;
    int most_blocks = 0;
    REQUIRE(cudaOccMaxBlocksPerMultiprocessor(&most_blocks, &properties) == CUDA_OCC_SUCCESS);
    const DeviceLimits device{.compute_major = chip.major,
                              .compute_minor = chip.minor,
                              .multiprocessors = 100,
                              .warps = chip.warps,
                              .blocks = most_blocks,
                              .registers = 65536,
                              .shared_memory = chip.shared,
                              .registers_per_block = 65536,
                              .reserved_shared_memory_per_block =
                                  static_cast<std::int64_t>(properties.reservedSharedMemPerBlock)};
    for (int round = 0; round < 3000; ++round) {
      LaunchShape shape{.blocks = 1,
                        .threads_per_block = number(0, 3) ? 32 * number(1, 32) : number(1, 1024),
                        .registers_per_thread = number(0, 255)};
      if (number(0, 2))
        shape.shared_memory_per_block = number(0, number(0, 1) ? 4096 : chip.per_block);
      cudaOccDeviceState state;
      if (!number(0, 2)) {
        shape.carveout = number(0, 100);
        state.carveoutConfig = static_cast<int>(*shape.carveout);
      }
      cudaOccFuncAttributes attributes;
      attributes.maxThreadsPerBlock = 1024;
      attributes.numRegs = static_cast<int>(shape.registers_per_thread);
      attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      attributes.maxDynamicSharedSizeBytes =
          static_cast<std::size_t>(shape.shared_memory_per_block);
      attributes.numBlockBarriers = 1;
      cudaOccResult expected;
      REQUIRE(cudaOccMaxActiveBlocksPerMultiprocessor(
                  &expected, &properties, &attributes, &state,
                  static_cast<int>(shape.threads_per_block),
                  static_cast<std::size_t>(shape.shared_memory_per_block)) == CUDA_OCC_SUCCESS);
      CAPTURE(chip.major, chip.minor, shape.threads_per_block, shape.registers_per_thread,
              shape.shared_memory_per_block, shape.carveout.value_or(-1));
      const auto found = occupancy(device, shape);
      CHECK((found ? found->blocks_per_multiprocessor : 0) ==
            expected.activeBlocksPerMultiprocessor);
      if (found) CHECK(found->limits == (expected.limitingFactors & 15u));
    }
  }
}
#endif
