// Frames on disk: those that wait for the loader and do not fit in memory.
//
// Two nameless files take turns: one is read while the other is written, and a file that was read
// to its end releases all its space. So the disk holds the waiting frames and at most as much
// again, however long the run is. Used by one thread at a time. Throws nothing: a failing disk is
// reported as a result.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

class Spill {
 public:
  // `folder` holds the files, which vanish with the process. They hold at most `limit` unread
  // bytes; without a limit, half of the free disk space at first use: the waiting frames also have
  // to fit in the database, which is mostly on the same disk.
  Spill(std::string folder, std::optional<std::uint64_t> limit);
  ~Spill();
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  // false: there is no room, or no file can be created. Nothing of the frame is kept then.
  bool write(const wire::Frame& frame);
  // The oldest frame. false: the disk does not return what was written; the content of that file is
  // gone, and added to lost().
  bool read(wire::Frame& frame);

  bool empty() const { return waiting() == 0; }
  std::uint64_t waiting() const;  // unread bytes
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
  std::size_t reading_ = 0;  // the file being read; it is also written to until reading begins
  std::uint64_t lost_ = 0;
};

}  // namespace gpuprof::launch
