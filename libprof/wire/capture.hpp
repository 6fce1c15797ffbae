// A run's frames in a file: recorded once, loaded as often as one likes, on any machine.
//
// The file is the magic bytes, the wire version, and frames one behind the other, each with its
// stream's number. A file that was cut off is read up to the cut.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include "libprof/wire/frame.hpp"

namespace gpuprof::wire {

class CaptureWriter {
 public:
  // Throws gpuprof::Error, as write() does when the disk is full.
  explicit CaptureWriter(const std::string& path);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  void write(const Frame& frame);
  void close();

 private:
  void write(const void* bytes, std::size_t size);

  std::string path_;
  std::FILE* file_;
};

class CaptureReader {
 public:
  // Throws gpuprof::Error when the file is no capture or one of a later version.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // false: the end, or damage; damage() tells which.
  bool next(Frame& frame);
  // Empty, or what is wrong and where. Everything before that was read.
  const std::string& damage() const { return damage_; }

  std::uint64_t bytes_read() const { return bytes_read_; }
  std::uint64_t size() const { return size_; }

 private:
  std::string path_;
  std::FILE* file_;
  FrameAssembler frames_;
  std::string damage_;
  std::uint64_t bytes_read_ = 0;
  std::uint64_t frame_start_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace gpuprof::wire
