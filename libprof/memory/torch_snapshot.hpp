// What PyTorch's caching allocator says of itself: the pickle of
// torch.cuda.memory._dump_snapshot().
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace gpuprof::memory {

// Memory that the allocator asked for and hands out in blocks. Bytes.
struct TorchSegment {
  std::int64_t device = 0, address = 0, bytes = 0;
  std::int64_t stream = 0;
  std::string type = {};    // small or large; empty: not told
  bool expandable = false;  // of mapped pieces
  std::int64_t blocks = 0;
  std::int64_t allocated = 0;     // in use
  std::int64_t active = 0;        // … or waiting for a stream that uses it
  std::int64_t requested = 0;     // of active what was asked for, without rounding
  std::int64_t largest_free = 0;  // block

  std::int64_t end() const { return address + bytes; }
  std::int64_t free() const { return bytes - active; }
};

struct TorchSnapshot {
  std::vector<TorchSegment> segments;    // by device and address; none overlaps another
  std::optional<std::int64_t> taken_at;  // ns since 1970; none: no history was recorded
};

// Reads words, numbers, lists and dicts; a pickle that wants anything else made or called is
// refused, and nothing in it decides how much memory is taken. Throws Error that begins with
// `name`. `check` is called now and then and may throw. Memory: 16 bytes for each number of the
// file that is of use.
TorchSnapshot read_torch_snapshot(std::istream& pickle, const std::string& name,
                                  const std::function<void()>& check);
// Of a file.
TorchSnapshot read_torch_snapshot(const std::string& path, const std::function<void()>& check);

}  // namespace gpuprof::memory
