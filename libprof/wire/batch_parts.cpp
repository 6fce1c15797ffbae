#include "libprof/wire/batch_parts.hpp"

#include <utility>

#include "libprof/wire/format.hpp"

namespace gpuprof::wire {

BatchParts::Added BatchParts::add(std::span<const std::byte> payload, std::size_t room) {
  if (payload.size() < sizeof(BatchPartHeader)) {
    forget();
    return Added::malformed;
  }
  const auto header = load<BatchPartHeader>(payload.data());
  const auto bytes = payload.subspan(sizeof header);
  if (header.number == 0 && next_ == 0) parts_ = header.parts;
  if (header.number != next_ || header.parts != parts_ || header.number >= header.parts) {
    forget();
    return Added::malformed;
  }
  if (bytes.size() > room || bytes_.size() > room - bytes.size()) {
    forget();
    return Added::too_long;
  }
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return ++next_ == parts_ ? Added::whole : Added::more;
}

std::vector<std::byte> BatchParts::take() {
  std::vector<std::byte> whole = std::exchange(bytes_, {});
  forget();
  return whole;
}

void BatchParts::forget() {
  bytes_ = {};
  next_ = parts_ = 0;
}

}  // namespace gpuprof::wire
