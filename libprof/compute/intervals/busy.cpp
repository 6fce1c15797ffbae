#include "libprof/compute/intervals/busy.hpp"

namespace gpuprof::intervals {

// Equivalent to adding one by one, but without a branch per interval.
void Busy::add(Columns chunk) {
  std::size_t i = 0;
  for (; i < chunk.size() && until_ == INT64_MIN; ++i) add(chunk.begin[i], chunk.end[i]);
  const std::int64_t* const begins = chunk.begin.data();
  const std::int64_t* const ends = chunk.end.data();
  const std::size_t size = chunk.size();
  std::int64_t backwards = 0, last = last_, until = until_;
  std::uint64_t ns = ns_;
  for (; i < size; ++i) {
    const std::int64_t begin = begins[i];
    backwards |= begin < last;
    last = begin;
    // An empty interval leaves `until` unchanged, and so adds nothing.
    const std::int64_t end = ends[i] > begin ? std::max(ends[i], until) : until;
    const std::int64_t from = std::min(std::max(begin, until), end);
    ns += static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(from);
    until = end;
  }
  if (backwards) throw_out_of_order();
  last_ = last;
  until_ = until;
  ns_ = ns;
}

std::int64_t busy(IntervalSource& source) {
  Busy busy;
  for (Columns chunk = source.next(); !chunk.empty(); chunk = source.next()) busy.add(chunk);
  return busy.ns();
}

namespace {

// Calls f(begin, end) for each interval of a source.
template <typename F>
void for_each(IntervalSource& source, F f) {
  for (Columns chunk = source.next(); !chunk.empty(); chunk = source.next()) {
    for (std::size_t i = 0; i < chunk.size(); ++i) f(chunk.begin[i], chunk.end[i]);
  }
}

std::int64_t plus(std::int64_t a, std::uint64_t b) {  // saturating
  return b > length(a, INT64_MAX) ? INT64_MAX
                                  : static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + b);
}

}  // namespace

std::vector<std::int64_t> busy_per_window(IntervalSource& disjoint, std::int64_t first,
                                          std::int64_t width, std::size_t count) {
  std::vector<std::int64_t> result(count, 0);
  if (width <= 0 || count == 0) return result;
  const auto wide = static_cast<std::uint64_t>(width);
  for_each(disjoint, [&](std::int64_t begin, std::int64_t end) {
    begin = std::max(begin, first);
    if (end <= begin) return;
    for (std::uint64_t window = length(first, begin) / wide; window < count; ++window) {
      const std::int64_t stop = std::min(end, plus(begin, wide - length(first, begin) % wide));
      result[window] += signed_length(length(begin, stop));
      begin = stop;
      if (begin == end) return;
    }
  });
  return result;
}

std::vector<std::int64_t> busy_within(IntervalSource& disjoint, Columns windows) {
  // The busy time before each end of a window, queried in time order.
  struct Question {
    std::int64_t time;
    std::size_t at;  // 2 * window, plus 1 for its end
  };
  std::vector<Question> questions;
  questions.reserve(2 * windows.size());
  for (std::size_t i = 0; i < windows.size(); ++i) {
    if (windows.end[i] <= windows.begin[i]) continue;
    questions.push_back({windows.begin[i], 2 * i});
    questions.push_back({windows.end[i], 2 * i + 1});
  }
  std::ranges::sort(questions, {}, &Question::time);
  std::vector<std::int64_t> result(windows.size(), 0);
  auto question = questions.begin();
  std::uint64_t before = 0;
  // Sums are unsigned and may wrap; the difference of two is still correct.
  const auto answer = [&](std::uint64_t busy) {
    auto& place = result[question->at / 2];
    const auto sum = static_cast<std::uint64_t>(place);
    place = static_cast<std::int64_t>(question->at % 2 ? sum + busy : sum - busy);
    ++question;
  };
  for_each(disjoint, [&](std::int64_t begin, std::int64_t end) {
    while (question != questions.end() && question->time < end) {
      answer(before + length(begin, question->time));
    }
    before += length(begin, end);
  });
  while (question != questions.end()) answer(before);
  for (std::int64_t& ns : result) ns = signed_length(static_cast<std::uint64_t>(ns));
  return result;
}

}  // namespace gpuprof::intervals
