// Complete reads and writes at an offset in a file.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

namespace gpuprof {

// `transfer` is pread or pwrite.
template <class Byte, class Transfer>
bool transfer_whole(Transfer transfer, int file, std::span<Byte> bytes, std::uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t done = transfer(file, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
    at += static_cast<std::uint64_t>(done);
  }
  return true;
}

// Both return false if errno has the reason, or if the file ends early.
inline bool write_whole(int file, std::span<const std::byte> bytes, std::uint64_t at) {
  return transfer_whole(pwrite, file, bytes, at);
}
inline bool read_whole(int file, std::span<std::byte> bytes, std::uint64_t at) {
  return transfer_whole(pread, file, bytes, at);
}

}  // namespace gpuprof
