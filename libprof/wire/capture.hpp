// A run's frames in a file: recorded once, loaded as often as one likes, on any machine.
//
// The file is the magic bytes, a version, and the frames, each behind a head with its number and
// checksums. Damage costs the frames it covers: the next sound head is searched for. Files of
// version 1, which have no heads, are read up to their damage.
#pragma once

#include <cstdint>
#include <cstdio>
#include <span>
#include <string>

#include "libprof/wire/frame.hpp"

namespace gpuprof::wire {

// What stands in front of the frame's payload in a capture.
CaptureHead head_of(const Frame& frame, std::uint64_t number);

class CaptureWriter {
 public:
  // `name`: as messages call the file. Throws gpuprof::Error, as write() does when the disk is
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
  // Throws gpuprof::Error when the file is no capture or one of a later version.
  explicit CaptureReader(const std::string& path);
  ~CaptureReader();
  CaptureReader(const CaptureReader&) = delete;
  CaptureReader& operator=(const CaptureReader&) = delete;

  // The next frame that can be read. false: there is none any more.
  bool next(Frame& frame);

  // What could not be read up to now.
  struct Damage {
    std::uint64_t places = 0;
    std::uint64_t first = 0;   // byte at which the first begins
    std::uint64_t bytes = 0;   // of all
    std::uint64_t frames = 0;  // that are missing, as far as the numbers of the others tell
  };
  const Damage& damage() const { return damage_; }
  bool whole() const { return damage_.places == 0; }
  // A sentence about the damage for people; empty: there is none.
  std::string damage_text() const;

  std::uint64_t bytes_read() const { return at_; }
  std::uint64_t size() const { return size_; }  // 0: not known, of a pipe

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
  std::uint64_t next_number_ = 0;  // behind the highest one read
  std::uint64_t read_again_ = 0;   // bytes, for damage
  bool ended_ = false;
  std::string end_reason_;  // why nothing more could be read, if it was not the end of the file
  Damage damage_;
};

}  // namespace gpuprof::wire
