// Frames on disk: what waits for the loader and has no place in memory.
//
// Two files without names take turns: one is read while the other is written, and the one that was
// read to its end gives all its room back. So the disk holds what waits and at most as much again,
// however long the run is. Belongs to one thread at a time. Nothing is thrown: a disk that refuses
// is an answer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

class Spill {
 public:
  // `folder` holds the files, which vanish with the process. They hold at most `limit` bytes that
  // were not read; without one, half of what the disk has free when it is first needed: what waits
  // here has to find room in the database as well, which mostly lies beside it.
  Spill(std::string folder, std::optional<std::uint64_t> limit);
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  // false: there is no room, or no file can be had. Nothing of the frame is kept then.
  bool write(const wire::Frame& frame);
  // The oldest frame. false: the disk does not give back what it took; what was in that file is
  // gone, and lost() has grown by it.
  bool read(wire::Frame& frame);

  bool empty() const { return waiting() == 0; }
  std::uint64_t waiting() const;  // bytes that were not read
  std::uint64_t lost() const { return lost_; }

 private:
  struct File {
    int descriptor = -1;
    std::uint64_t read = 0;
    std::uint64_t written = 0;
  };
  bool open(File& file);

  const std::string folder_;
  std::optional<std::uint64_t> limit_;
  std::array<File, 2> files_;
  std::size_t reading_ = 0;  // which file is read; it is also written to until its reading begins
  std::uint64_t lost_ = 0;
};

}  // namespace gpuprof::launch
