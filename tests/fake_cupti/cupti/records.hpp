// CUPTI's records as the pretended version writes them: how long each kind is, and which members it
// has. What a version lacks inside a record's length is filled with `poison`, so that a reader who
// looks there is found out. The lengths are those of NVIDIA's libcupti 12.6, 12.8, 12.9, 13.0
// (asked with cuptiActivityGetNextRecord) and of the headers of 13.5.
#pragma once

#include <cupti.h>

#include <cstddef>
#include <cstdint>

namespace fake {

inline constexpr unsigned char poison = 0xab;

// Set in `kind` while a record waits for its times. Seen in 13.0 and 13.5, in no document.
inline constexpr std::uint32_t unfinished = 0x80000000;

// CUPTI's own kernel, which runs ahead of each kernel that is profiled under user replay.
inline constexpr char own_kernel_name[] = "WaitNs";

// FAKE_CUPTI_VERSION: 24 = 12.6, 26 = 12.8, 28 = 12.9, 130000 = 13.0 … 130500 (the default).
std::uint32_t version();

// 0: the version does not know the kind.
std::size_t record_size(std::uint32_t kind);

}  // namespace fake
