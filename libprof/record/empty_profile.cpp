#include "libprof/record/empty_profile.hpp"

#include <cstring>

namespace gpuprof::record {

std::vector<std::byte> empty_profile_bytes(bool live) {
  const EmptyProfile& made = empty_profile();
  std::vector<std::byte> bytes(made.size);
  const auto put = [&](std::size_t at, std::string_view piece) {
    std::memcpy(bytes.data() + at, piece.data(), piece.size());
  };
  for (const EmptyProfile::Piece& piece : made.pieces) put(piece.at, piece.bytes);
  if (live) put(0, made.live_header);
  return bytes;
}

void write_empty_profile(store::Database& new_file, bool live) {
  new_file.write_file(0, empty_profile_bytes(live));
}

}  // namespace gpuprof::record
