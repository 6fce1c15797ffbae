#include "libprof/base/descriptor_buffer.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace gpuprof {

DescriptorBuffer::int_type DescriptorBuffer::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  if (!traits_type::eq_int_type(c, traits_type::eof())) {
    *pptr() = traits_type::to_char_type(c);
    pbump(1);
  }
  return traits_type::not_eof(c);
}

int DescriptorBuffer::sync() {
  const char* from = pbase();
  while (from < pptr() && error_ == 0) {
    const ssize_t written = write(descriptor_, from, static_cast<std::size_t>(pptr() - from));
    if (written < 0 && errno != EINTR) error_ = errno;
    if (written <= 0) continue;
    from += written;
    written_ += written;
  }
  empty();
  return error_ == 0 ? 0 : -1;
}

}  // namespace gpuprof
