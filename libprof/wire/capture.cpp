#include "libprof/wire/capture.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "libprof/base/crc32c.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::wire {
namespace {

std::uint32_t head_sum(const CaptureHead& head) {
  return crc32c(std::as_bytes(std::span(&head, 1)).first(offsetof(CaptureHead, head_sum)));
}

bool sound(const CaptureHead& head) {
  return head.marker == capture_marker && head.frame.type != 0 && head.frame.type <= 0xffff &&
         head.frame.length <= max_payload && head.number < max_capture_number &&
         head.head_sum == head_sum(head);
}

// A file made of heads that lie about what follows would be read over and over. Honest damage makes
// a reader read the covered bytes twice: once as a payload, once in search of the next head.
constexpr std::uint64_t most_read_again = 4;  // times the file size

std::string count_of(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

CaptureHead head_of(const Frame& frame, std::uint64_t number) {
  CaptureHead head{capture_marker,
                   {static_cast<std::uint32_t>(frame.type), frame.stream, frame.length},
                   number,
                   crc32c(frame.payload()),
                   0};
  head.head_sum = head_sum(head);
  return head;
}

CaptureWriter::CaptureWriter(const std::string& path, std::string name)
    : name_(std::move(name)), file_(std::fopen(path.c_str(), "wbe")) {
  if (!file_) {
    throw Error(name_ + ": " + std::strerror(errno),
                "check that the folder exists and may be written to", ExitCode::output_failed);
  }
  write(capture_magic.data(), capture_magic.size());
  write(&capture_version, sizeof capture_version);
}

CaptureWriter::~CaptureWriter() {
  if (file_) std::fclose(file_);
}

void CaptureWriter::write(const void* bytes, std::size_t size) {
  if (size > 0 && std::fwrite(bytes, 1, size, file_) != size) {
    throw Error(name_ + ": " + std::strerror(errno), "free some space and run again",
                ExitCode::output_failed);
  }
}

void CaptureWriter::write(const Frame& frame) {
  const CaptureHead head = head_of(frame, frames_++);
  write(&head, sizeof head);
  write(frame.bytes.get(), frame.length);
}

void CaptureWriter::close() {
  std::FILE* file = std::exchange(file_, nullptr);
  if (file && std::fclose(file) != 0) {
    throw Error(name_ + ": " + std::strerror(errno), "free some space and run again",
                ExitCode::output_failed);
  }
}

CaptureReader::CaptureReader(const std::string& path)
    : path_(path), file_(std::fopen(path.c_str(), "rbe")) {
  if (!file_) throw Error(path + ": " + std::strerror(errno), "", ExitCode::import_failed);
  char magic[8] = {};
  if (read(magic, sizeof magic) != sizeof magic ||
      std::string_view(magic, sizeof magic) != capture_magic ||
      read(&version_, sizeof version_) != sizeof version_) {
    std::fclose(file_);
    throw Error(path + " is not a capture", "captures are made with gpuprof --save-capture FILE",
                ExitCode::import_failed);
  }
  if (version_ > capture_version) {
    std::fclose(file_);
    throw Error(path + " is a capture of version " + std::to_string(version_) +
                    ", this gpuprof reads up to " + std::to_string(capture_version),
                "use a newer gpuprof", ExitCode::import_failed);
  }
  struct stat status {};
  if (fstat(fileno(file_), &status) == 0 && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

CaptureReader::~CaptureReader() { std::fclose(file_); }

std::size_t CaptureReader::read(void* bytes, std::size_t count) {
  const std::size_t got = std::fread(bytes, 1, count, file_);
  at_ += got;
  return got;
}

bool CaptureReader::go_to(std::uint64_t place) {
  if (fseeko(file_, static_cast<off_t>(place), SEEK_SET) != 0) return false;
  at_ = place;
  return true;
}

void CaptureReader::add_damage(std::uint64_t from, std::uint64_t to) {
  if (damage_.places++ == 0) damage_.first = from;
  damage_.bytes += to - from;
}

void CaptureReader::end(std::string reason) {
  ended_ = true;
  end_reason_ = std::move(reason);
}

bool CaptureReader::next(Frame& frame) {
  if (ended_) return false;
  return version_ == 1 ? next_without_head(frame) : next_with_head(frame);
}

bool CaptureReader::next_without_head(Frame& frame) {
  FrameAssembler frames;
  const std::uint64_t start = at_;
  while (!frames.complete()) {
    const auto room = frames.room();
    std::string reason = frames.damaged();
    if (!room.empty()) {
      const std::size_t got = read(room.data(), room.size());
      if (got > 0) {
        frames.filled(got);
        continue;
      }
      if (std::ferror(file_)) {
        reason = std::strerror(errno);
      } else if (frames.in_the_middle()) {
        reason = "the file ends in the middle of a frame";
      } else {
        ended_ = true;
        return false;
      }
    }
    end(std::move(reason));
    add_damage(start, std::max(at_, size_));
    damage_.frames = 1;
    return false;
  }
  frame = frames.take();
  return true;
}

bool CaptureReader::next_with_head(Frame& frame) {
  const std::uint64_t start = at_;
  std::uint64_t place = start;
  std::uint64_t number = 0;
  while (!read_frame(frame, number)) {
    if (at_ == start && std::feof(file_)) {
      ended_ = true;
      return false;
    }
    if (!find_head(place + 1)) {
      ended_ = true;
      add_damage(start, std::max(at_, size_));
      ++damage_.frames;  // at least
      return false;
    }
    place = at_;
  }
  // The numbers show how many frames are missing before this one, and whether it is in order.
  if (place != start || number != next_number_) add_damage(start, place);
  if (number >= next_number_) {
    damage_.frames += number - next_number_;
    next_number_ = number + 1;
  } else if (damage_.frames > 0) {
    --damage_.frames;  // it had been counted as missing
  }
  return true;
}

// false: there is no sound frame here. The file position is then unspecified.
bool CaptureReader::read_frame(Frame& frame, std::uint64_t& number) {
  CaptureHead head{};
  if (read(&head, sizeof head) != sizeof head || !sound(head)) return false;
  if (size_ > 0 && head.frame.length > size_ - std::min(at_, size_)) return false;  // cut off
  frame.type = static_cast<FrameType>(head.frame.type);
  frame.stream = head.frame.stream;
  frame.length = static_cast<std::size_t>(head.frame.length);
  frame.bytes = std::make_unique_for_overwrite<std::byte[]>(frame.length);
  number = head.number;
  return read(frame.bytes.get(), frame.length) == frame.length &&
         crc32c(frame.payload()) == head.payload_sum;
}

// Goes to the first sound head at or after that offset. false: there is none, or searching is
// impossible.
bool CaptureReader::find_head(std::uint64_t from) {
  read_again_ += at_ - from;
  if (!go_to(from)) {
    end("what comes from a pipe cannot be searched");
    return false;
  }
  std::vector<std::byte> bytes(std::size_t{64} << 10);
  std::size_t kept = 0;  // from the previous block: a head may straddle both
  while (true) {
    if (read_again_ > most_read_again * size_) {
      end("it is damaged all over");
      return false;
    }
    const std::uint64_t start = at_ - kept;
    const std::size_t got = read(bytes.data() + kept, bytes.size() - kept);
    read_again_ += got;
    if (got == 0) {
      if (std::ferror(file_)) end(std::strerror(errno));
      return false;
    }
    const std::size_t there = kept + got;
    for (std::size_t i = 0; i + sizeof(CaptureHead) <= there; ++i) {
      const void* marker = memmem(&bytes[i], there - i, &capture_marker, sizeof capture_marker);
      if (!marker) break;
      i = static_cast<std::size_t>(static_cast<const std::byte*>(marker) - bytes.data());
      if (i + sizeof(CaptureHead) > there) break;
      if (sound(load<CaptureHead>(&bytes[i]))) return go_to(start + i);
    }
    kept = std::min(there, sizeof(CaptureHead) - 1);
    std::memmove(bytes.data(), &bytes[there - kept], kept);
  }
}

std::string CaptureReader::damage_text() const {
  if (whole()) return {};
  const std::string where = std::to_string(damage_.first);
  if (version_ == 1) {
    return path_ + " is damaged at byte " + where + ": " + end_reason_ +
           "; what came before is loaded";
  }
  std::string text = path_ + " is damaged in " + count_of(damage_.places, "place") +
                     (damage_.places == 1 ? ", at byte " : ", the first at byte ") + where + ": " +
                     count_of(damage_.bytes, "byte") + " and " + count_of(damage_.frames, "frame") +
                     " are lost; ";
  if (!end_reason_.empty()) return text + "reading ended there, for " + end_reason_;
  const bool to_the_end = damage_.places == 1 && damage_.first + damage_.bytes == size_;
  return text + (to_the_end ? "what came before is loaded" : "the rest is loaded");
}

}  // namespace gpuprof::wire
