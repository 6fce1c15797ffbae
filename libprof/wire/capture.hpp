// A run's frames in a file: recorded once, loadable any number of times, on any machine.
//
// The file is the magic bytes, a version, and the frames, each preceded by a head with its number
// and checksums. Damage costs only the frames it covers: the reader searches for the next sound
// head. Files of version 1, which have no heads, are read up to the first damage.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "libprof/wire/frame.hpp"

namespace gpuprof::wire {

// The head that precedes the frame's payload in a capture.
CaptureHead head_of(const Frame& frame, std::uint64_t number);

class CaptureWriter {
 public:
  // `name`: the file's name in messages. Throws gpuprof::Error; so does write() when the disk is
  // full.
  explicit CaptureWriter(const std::string& path) : CaptureWriter(path, path) {}
  CaptureWriter(const std::string& path, std::string name);
  ~CaptureWriter();
  CaptureWriter(const CaptureWriter&) = delete;
  CaptureWriter& operator=(const CaptureWriter&) = delete;

  void write(const Frame& frame);
  void close();

 private:
  void write(const void* bytes, std::size_t size);

  std::string name_;
  std::FILE* file_;
  std::uint64_t frames_ = 0;
};

class CaptureReader {
 public:
  // Throws gpuprof::Error if the file is not a capture, or is one of a later version.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // The next readable frame. false: there are no more.
  bool next(Frame& frame);

  // What could not be read so far.
  struct Damage {
    std::uint64_t places = 0;
    std::uint64_t first = 0;   // offset of the first damaged byte
    std::uint64_t bytes = 0;   // in all places
    std::uint64_t frames = 0;  // missing, as far as the numbers of the other frames show
  };
  const Damage& damage() const { return damage_; }
  bool whole() const { return damage_.places == 0; }
  // A sentence about the damage for the user; empty if there is none.
  std::string damage_text() const;

  std::uint64_t bytes_read() const { return at_; }
  std::uint64_t size() const { return size_; }  // 0: unknown, as for a pipe

 private:
  bool next_without_head(Frame& frame);
  bool next_with_head(Frame& frame);
  bool read_frame(Frame& frame, std::uint64_t& number);
  bool find_head(std::uint64_t from);
  std::size_t read(void* bytes, std::size_t count);
  bool go_to(std::uint64_t place);
  void add_damage(std::uint64_t from, std::uint64_t to);
  void end(std::string reason);

  std::string path_;
  std::FILE* file_;
  std::uint32_t version_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t next_number_ = 0;  // one past the highest read so far
  std::uint64_t read_again_ = 0;   // bytes, because of damage
  bool ended_ = false;
  std::string end_reason_;  // why nothing more could be read, if not for the end of the file
  Damage damage_;
};

}  // namespace gpuprof::wire
