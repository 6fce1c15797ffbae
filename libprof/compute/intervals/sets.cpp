#include "libprof/compute/intervals/sets.hpp"

#include <algorithm>

namespace gpuprof::intervals {

Merged::Merged(const std::vector<IntervalSource*>& sources) {
  for (IntervalSource* source : sources) {
    const Columns chunk = source->next();
    if (!chunk.empty()) fronts_.push_back({source, chunk, 0});
  }
  std::ranges::make_heap(fronts_, later);
}

Columns Merged::next() {
  out_.clear();
  while (!fronts_.empty() && out_.size() < chunk_size) {
    std::ranges::pop_heap(fronts_, later);
    Front& front = fronts_.back();
    // It stays out of the heap as long as it comes before the others.
    const std::int64_t limit = fronts_.size() > 1 ? fronts_.front().begin() : INT64_MAX;
    do {
      const std::int64_t begin = front.begin();
      out_.add(begin, front.end());
      if (++front.at == front.chunk.size()) {
        front.chunk = front.source->next();
        front.at = 0;
        if (front.chunk.empty()) break;
      }
      if (front.begin() < begin) throw_out_of_order();
    } while (front.begin() <= limit && out_.size() < chunk_size);
    if (front.chunk.empty()) {
      fronts_.pop_back();
    } else {
      std::ranges::push_heap(fronts_, later);
    }
  }
  return out_.columns();
}

namespace {

// Space to write `count` intervals.
std::pair<std::int64_t*, std::int64_t*> room(Intervals& out, std::size_t count) {
  if (out.size() < count) {
    out.begin.resize(count);
    out.end.resize(count);
  }
  return {out.begin.data(), out.end.data()};
}

}  // namespace

// An interval replaces the open one if it begins after its end, and otherwise may extend it. Both
// cases are branch-free, since the input is as good as random: the open interval is written each
// time to the next output position, and counts once another replaces it.
Columns UnionBuilder::add(Columns chunk) {
  const std::size_t size = chunk.size();
  const std::int64_t* const begins = chunk.begin.data();
  const std::int64_t* const ends = chunk.end.data();
  const auto [out_begins, out_ends] = room(out_, size + 1);
  std::int64_t open = begin_, close = end_, last = last_;
  std::int64_t backwards = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::int64_t begin = begins[i];
    backwards |= begin < last;
    last = begin;
    // An empty interval gets the lowest end, so that nothing below changes.
    const std::int64_t end = ends[i] > begin ? ends[i] : INT64_MIN;
    const bool apart = (begin > close) & (end > begin);
    out_begins[count] = open;
    out_ends[count] = close;
    count += apart;
    open = apart ? begin : open;
    close = std::max(close, end);
  }
  if (backwards) throw_out_of_order();
  // The initial open interval is empty and is skipped.
  const std::size_t none = count > 0 && begin_ == end_ ? 1 : 0;
  begin_ = open;
  end_ = close;
  last_ = last;
  return out_.columns().part(none, count - none);
}

Columns UnionBuilder::finish() {
  out_.clear();
  if (end_ > begin_) out_.add(begin_, end_);
  last_ = begin_ = end_ = INT64_MIN;
  return out_.columns();
}

Columns Union::next() {
  while (!ended_) {
    const Columns chunk = source_.next();
    ended_ = chunk.empty();
    const Columns complete = ended_ ? builder_.finish() : builder_.add(chunk);
    if (!complete.empty()) return complete;
  }
  return {};
}

bool Cursor::done() {
  if (!rest_.empty() || ended_) return ended_;
  rest_ = source_.next();
  ended_ = rest_.empty();
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < rest_.size(); ++i) {
    wrong |= int{rest_.begin[i] < until_} | int{rest_.end[i] <= rest_.begin[i]};
    until_ = rest_.end[i];
  }
  if (wrong) throw_out_of_order();
  return ended_;
}

// Again each result is written but counts only if it is not empty: which of two ends first is as
// good as random.
Columns Intersection::next() {
  std::size_t count = 0;
  while (count == 0 && !a_.done() && !b_.done()) {
    const Columns a = a_.rest(), b = b_.rest();
    const auto [begins, ends] = room(out_, a.size() + b.size());
    std::size_t i = 0, j = 0;
    while (i < a.size() && j < b.size()) {
      const std::int64_t begin = std::max(a.begin[i], b.begin[j]);
      const std::int64_t end = std::min(a.end[i], b.end[j]);
      begins[count] = begin;
      ends[count] = end;
      count += end > begin;
      const std::size_t step = a.end[i] < b.end[j];
      i += step;
      j += 1 - step;
    }
    a_.advance(i);
    b_.advance(j);
  }
  return out_.columns().part(0, count);
}

Columns Difference::next() {
  static constexpr std::int64_t never[] = {INT64_MAX};
  std::size_t count = 0;
  while (count == 0 && !a_.done()) {
    const bool alone = b_.done();
    const Columns a = a_.rest(), b = alone ? Columns{never, never} : b_.rest();
    const auto [begins, ends] = room(out_, a.size() + b.size());
    std::size_t i = 0, j = 0;
    std::int64_t from = from_;
    while (i < a.size() && j < b.size()) {
      begins[count] = std::max(a.begin[i], from);
      ends[count] = std::min(a.end[i], b.begin[j]);
      count += ends[count] > begins[count];
      const std::size_t step = b.end[j] < a.end[i];
      from = std::max(from, step ? b.end[j] : INT64_MIN);
      j += step;
      i += 1 - step;
    }
    from_ = from;
    a_.advance(i);
    if (!alone) b_.advance(j);
  }
  return out_.columns().part(0, count);
}

Columns Gaps::next() {
  out_.clear();
  const std::int64_t limit = window_end_.value_or(INT64_MAX);
  while (out_.begin.empty() && !busy_.done()) {
    const Columns busy = busy_.rest();
    for (std::size_t i = 0; i < busy.size(); ++i) {
      const std::int64_t stop = std::min(busy.begin[i], limit);
      if (from_ && stop > *from_) out_.add(*from_, stop);
      from_ = std::max(from_.value_or(INT64_MIN), busy.end[i]);
    }
    busy_.advance(busy.size());
  }
  if (out_.begin.empty() && window_end_) {
    if (limit > *from_) out_.add(*from_, limit);
    window_end_.reset();
  }
  return out_.columns();
}

}  // namespace gpuprof::intervals
