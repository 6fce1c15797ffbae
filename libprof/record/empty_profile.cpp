#include "libprof/record/empty_profile.hpp"

#include <cstring>
#include <vector>

namespace gpuprof::record {

void write_empty_profile(store::Database& new_file, bool live) {
  const EmptyProfile& made = empty_profile();
  std::vector<std::byte> bytes(made.size);
  const auto put = [&](std::size_t at, std::string_view piece) {
    std::memcpy(bytes.data() + at, piece.data(), piece.size());
  };
  for (const EmptyProfile::Piece& piece : made.pieces) put(piece.at, piece.bytes);
  if (live) put(0, made.live_header);
  new_file.write_file(0, bytes);
}

}  // namespace gpuprof::record
