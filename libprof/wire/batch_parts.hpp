// Reassembles batches that were too long for one payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpuprof::wire {

// The parts of one stream. A part that is out of order is discarded along with what preceded it.
class BatchParts {
 public:
  enum class Added { more, whole, malformed, too_long };

  // `room`: how long the batch may become. After `whole`, call take() before adding the next part.
  Added add(std::span<const std::byte> payload, std::size_t room);
  std::vector<std::byte> take();
  void forget();

  std::size_t held() const { return bytes_.size(); }

 private:
  std::vector<std::byte> bytes_;
  std::uint32_t next_ = 0;
  std::uint32_t parts_ = 0;
};

}  // namespace gpuprof::wire
