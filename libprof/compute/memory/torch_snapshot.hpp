// PyTorch's caching allocator in its own words: the pickle of torch.cuda.memory._dump_snapshot().
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace gpuprof::memory {

// Memory that the allocator requested and hands out in blocks. Sizes in bytes.
struct TorchSegment {
  std::int64_t device = 0, address = 0, bytes = 0;
  std::int64_t stream = 0;
  std::string type = {};    // small or large; empty: unknown
  bool expandable = false;  // consists of mapped pieces
  std::int64_t blocks = 0;
  std::int64_t allocated = 0;     // in use
  std::int64_t active = 0;        // … or waiting for a stream that uses it
  std::int64_t requested = 0;     // of active: originally requested, before rounding
  std::int64_t largest_free = 0;  // block

  std::int64_t end() const { return address + bytes; }
  std::int64_t free() const { return bytes - active; }
};

struct TorchSnapshot {
  std::vector<TorchSegment> segments;    // by device and address, not overlapping
  std::optional<std::int64_t> taken_at;  // ns since 1970; nullopt: no history was recorded
};

// Reads strings, numbers, lists and dicts; a pickle that would construct or call anything else is
// rejected, and nothing in it determines how much memory is allocated. Throws an Error that begins
// with `name`. `check` is called now and then and may throw. Memory: 16 bytes per relevant number
// in the file.
TorchSnapshot read_torch_snapshot(std::istream& pickle, const std::string& name,
                                  const std::function<void()>& check);
// Reads it from a file.
TorchSnapshot read_torch_snapshot(const std::string& path, const std::function<void()>& check);

}  // namespace gpuprof::memory
