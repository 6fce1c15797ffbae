// A file descriptor as what a std::ostream writes to.
#pragma once

#include <sys/types.h>

#include <array>
#include <streambuf>

namespace gpuprof {

// From the first write that fails on, nothing goes out any more and every write fails. Destructors
// of what prints may swallow the exception that a stream throws: error() still has the reason.
// SIGPIPE has to be ignored. The descriptor is the caller's.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) { empty(); }
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  // Why a write failed: errno; 0: none did.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

  // Forgets what is not out yet.
  void empty() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  int descriptor_;
  off_t written_ = 0;

 private:
  int error_ = 0;
  std::array<char, 1 << 16> bytes_;
};

}  // namespace gpuprof
