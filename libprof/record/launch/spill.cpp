#include "libprof/record/launch/spill.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <utility>

#include "libprof/base/whole.hpp"

namespace gpuprof::launch {
namespace {

int open_nameless(const std::string& folder) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  // Not every file system supports nameless files.
  std::string path = folder + "/.gpuprof-spill-XXXXXX";
  const int named = mkostemp(path.data(), O_CLOEXEC);
  if (named >= 0) unlink(path.c_str());
  return named;
}

// Releases space. If that fails, the space is overwritten later.
void cut_file(int file, std::uint64_t size) {
  [[maybe_unused]] const int ignored = ftruncate(file, static_cast<off_t>(size));
}

// Half of the disk's free space; nullopt if unknown.
std::optional<std::uint64_t> half_of_the_room(int file) {
  struct statvfs disk {};
  if (fstatvfs(file, &disk) != 0) return std::nullopt;
  return std::uint64_t{disk.f_bavail} * disk.f_frsize / 2;
}

}  // namespace

Spill::Spill(std::string folder, std::optional<std::uint64_t> limit)
    : folder_(std::move(folder)), limit_(limit) {}

Spill::~Spill() {
  for (const File& file : files_) {
    if (file.descriptor >= 0) close(file.descriptor);
  }
}

std::uint64_t Spill::waiting() const {
  std::uint64_t bytes = 0;
  for (const File& file : files_) bytes += file.written - file.read;
  return bytes;
}

bool Spill::open(File& file) {
  if (file.descriptor < 0) file.descriptor = open_nameless(folder_);
  if (file.descriptor >= 0 && !limit_) limit_ = half_of_the_room(file.descriptor);
  return file.descriptor >= 0;
}

bool Spill::write(const wire::Frame& frame) {
  // After all waiting frames: into the other file, once this one is being read.
  File& file = files_[files_[reading_].read > 0 ? 1 - reading_ : reading_];
  if (!open(file)) return false;
  const wire::FrameHeader header{static_cast<std::uint32_t>(frame.type), frame.stream,
                                 frame.length};
  const std::uint64_t size = sizeof header + frame.length;
  if (limit_ && waiting() + size > *limit_) return false;
  if (!write_whole(file.descriptor, std::as_bytes(std::span(&header, 1)), file.written) ||
      !write_whole(file.descriptor, {frame.bytes.get(), frame.length},
                   file.written + sizeof header)) {
    cut_file(file.descriptor, file.written);
    return false;
  }
  file.written += size;
  return true;
}

bool Spill::read(wire::Frame& frame) {
  File& file = files_[reading_];
  wire::FrameHeader header{};
  bool whole =
      read_whole(file.descriptor, std::as_writable_bytes(std::span(&header, 1)), file.read);
  if (whole) {
    frame.type = static_cast<wire::FrameType>(header.type);
    frame.stream = header.stream;
    frame.length = static_cast<std::size_t>(header.length);
    frame.bytes = std::make_unique_for_overwrite<std::byte[]>(frame.length);
    whole =
        read_whole(file.descriptor, {frame.bytes.get(), frame.length}, file.read + sizeof header);
  }
  if (whole) {
    file.read += sizeof header + frame.length;
  } else {
    // Nothing after it can be trusted either.
    lost_ += file.written - file.read;
    file.read = file.written;
  }
  if (file.read == file.written) {
    cut_file(file.descriptor, 0);
    file.read = file.written = 0;
    reading_ = 1 - reading_;
  }
  return whole;
}

}  // namespace gpuprof::launch
