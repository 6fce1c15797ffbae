#include "libprof/collect/share/client_clock.hpp"

#include <algorithm>

namespace gpuprof::collect {

void ClientClock::choose(CUpti_TimestampCallbackFunc clock, decltype(&::cuptiGetTimestamp) cuptis) {
  clock_ = clock;
  cuptis_ = cuptis;
  count_ = 0;
  read();
}

void ClientClock::read() {
  if (!clock_) return;
  constexpr int tries = 4;  // the quickest counts
  constexpr std::uint64_t least_apart = 5'000'000;
  Reading best;
  std::uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < tries; ++i) {
    const std::uint64_t before = clock_();
    std::uint64_t cuptis = 0;
    if (cuptis_(&cuptis) != CUPTI_SUCCESS) return;
    const std::uint64_t width = clock_() - before;
    if (width >= best_width) continue;
    best_width = width;
    best = {cuptis, before + width / 2};
  }
  // The first one stays, and the last one is always the latest.
  if (count_ >= 2 && best.cuptis - readings_[count_ - 2].cuptis < least_apart) --count_;
  if (count_ == readings_.size()) {
    std::copy(readings_.begin() + readings_.size() / 2, readings_.end(), readings_.begin());
    count_ /= 2;
  }
  readings_[count_++] = best;
}

std::uint64_t ClientClock::of(std::uint64_t cuptis) const {
  if (cuptis == 0 || !clock_ || count_ < 2) return cuptis;
  const auto end = readings_.begin() + static_cast<std::ptrdiff_t>(count_);
  const auto later = std::lower_bound(
      readings_.begin() + 1, end - 1, cuptis,
      [](const Reading& reading, std::uint64_t time) { return reading.cuptis < time; });
  const Reading& from = later[-1];
  const auto length = static_cast<double>(later->cuptis - from.cuptis);
  if (length <= 0) return from.clients;
  const double rate = static_cast<double>(later->clients - from.clients) / length;
  // Before the first reading the difference is negative.
  const auto after = static_cast<std::int64_t>(cuptis - from.cuptis);
  return from.clients +
         static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<double>(after) * rate));
}

}  // namespace gpuprof::collect
