// A std::streambuf that writes to a file descriptor.
#pragma once

#include <sys/types.h>

#include <array>
#include <streambuf>

namespace gpuprof {

// After the first failed write nothing more is written and every write fails. Destructors of
// printing code may swallow the exception a stream throws; error() still has the reason. SIGPIPE
// must be ignored. The caller owns the descriptor.
class DescriptorBuffer : public std::streambuf {
 public:
  explicit DescriptorBuffer(int descriptor) : descriptor_(descriptor) { empty(); }
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;

  // errno of the write that failed; 0: none did.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override;
  int sync() override;

  // Discards what has not been written yet.
  void empty() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  int descriptor_;
  off_t written_ = 0;

 private:
  int error_ = 0;
  std::array<char, 1 << 16> bytes_;
};

}  // namespace gpuprof
