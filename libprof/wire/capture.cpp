#include "libprof/wire/capture.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "libprof/base/error.hpp"

namespace gpuprof::wire {

CaptureWriter::CaptureWriter(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "wbe")) {
  if (!file_) {
    throw Error(path + ": " + std::strerror(errno),
                "check that the folder exists and may be written to", ExitCode::output_failed);
  }
  write(capture_magic.data(), capture_magic.size());
  write(&version, sizeof version);
}

CaptureWriter::~CaptureWriter() {
  if (file_) std::fclose(file_);
}

void CaptureWriter::write(const void* bytes, std::size_t size) {
  if (size > 0 && std::fwrite(bytes, 1, size, file_) != size) {
    throw Error(path_ + ": " + std::strerror(errno), "free some space and run again",
                ExitCode::output_failed);
  }
}

void CaptureWriter::write(const Frame& frame) {
  const FrameHeader header{static_cast<std::uint32_t>(frame.type), frame.stream, frame.length};
  write(&header, sizeof header);
  write(frame.bytes.get(), frame.length);
}

void CaptureWriter::close() {
  std::FILE* file = std::exchange(file_, nullptr);
  if (file && std::fclose(file) != 0) {
    throw Error(path_ + ": " + std::strerror(errno), "free some space and run again",
                ExitCode::output_failed);
  }
}

CaptureReader::CaptureReader(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "rbe")) {
  if (!file_) throw Error(path + ": " + std::strerror(errno), "", ExitCode::import_failed);
  char magic[8] = {};
  std::uint32_t written_version = 0;
  if (std::fread(magic, 1, sizeof magic, file_) != sizeof magic ||
      std::string_view(magic, sizeof magic) != capture_magic ||
      std::fread(&written_version, 1, sizeof written_version, file_) != sizeof written_version) {
    std::fclose(file_);
    throw Error(path + " is no capture", "captures are made with gpuprof --save-capture FILE",
                ExitCode::import_failed);
  }
  if (written_version > version) {
    std::fclose(file_);
    throw Error(path + " has wire version " + std::to_string(written_version) +
                    ", this gpuprof reads up to " + std::to_string(version),
                "use a newer gpuprof", ExitCode::import_failed);
  }
  bytes_read_ = sizeof magic + sizeof written_version;
  struct stat status {};
  if (fstat(fileno(file_), &status) == 0) size_ = static_cast<std::uint64_t>(status.st_size);
}

CaptureReader::~CaptureReader() { std::fclose(file_); }

bool CaptureReader::next(Frame& frame) {
  if (!damage_.empty()) return false;
  while (!frames_.complete()) {
    if (!frames_.in_the_middle()) frame_start_ = bytes_read_;
    const auto room = frames_.room();
    if (room.empty()) {
      damage_ =
          path_ + " is damaged at byte " + std::to_string(frame_start_) + ": " + frames_.damaged();
      return false;
    }
    const std::size_t got = std::fread(room.data(), 1, room.size(), file_);
    bytes_read_ += got;
    if (got == 0) {
      if (std::ferror(file_)) {
        damage_ = path_ + " cannot be read behind byte " + std::to_string(bytes_read_) + ": " +
                  std::strerror(errno);
      } else if (frames_.in_the_middle()) {
        damage_ = path_ + " ends in the middle of a frame, at byte " + std::to_string(bytes_read_);
      }
      return false;
    }
    frames_.filled(got);
  }
  frame = frames_.take();
  return true;
}

}  // namespace gpuprof::wire
