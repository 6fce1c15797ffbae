// Union, intersection, difference and gaps, each again a source, so that they can be combined:
//
//   InMemory kernels(...), copies(...);
//   Union computing(kernels), copying(copies);
//   Difference exposed(copying, computing);
//   const std::int64_t ns = busy(exposed);
//
// The inputs of a source must outlive it and are consumed by it.
#pragma once

#include <optional>

#include "libprof/compute/intervals/intervals.hpp"

namespace gpuprof::intervals {

// Merges several sources into one, in order. A gpuprof::Merge, which is called for each row, took
// the viewer a quarter longer for the statistics of a run.
class Merged final : public IntervalSource {
 public:
  explicit Merged(const std::vector<IntervalSource*>& sources);
  Columns next() override;

 private:
  struct Front {
    IntervalSource* source;
    Columns chunk;
    std::size_t at;
    std::int64_t begin() const { return chunk.begin[at]; }
    std::int64_t end() const { return chunk.end[at]; }
  };
  static bool later(const Front& a, const Front& b) { return a.begin() > b.begin(); }

  std::vector<Front> fronts_;  // a min-heap
  Intervals out_;
};

// The time in which at least one interval is open, for chunks that are pushed. Adjacent intervals
// are joined.
class UnionBuilder {
 public:
  // Returns what is complete so far; valid until the next call.
  Columns add(Columns chunk);
  // Returns what was still open. Afterwards the builder can be reused.
  Columns finish();

 private:
  std::int64_t last_ = INT64_MIN;
  std::int64_t begin_ = INT64_MIN;  // of the open interval; empty: there is none
  std::int64_t end_ = INT64_MIN;
  Intervals out_;
};

class Union final : public IntervalSource {
 public:
  explicit Union(IntervalSource& source) : source_(source) {}
  Columns next() override;

 private:
  IntervalSource& source_;
  UnionBuilder builder_;
  bool ended_ = false;
};

// The current chunk of a disjoint source.
class Cursor {
 public:
  explicit Cursor(IntervalSource& source) : source_(source) {}
  bool done();  // call first; fetches the next chunk when this one is used up
  const Columns& rest() const { return rest_; }
  void advance(std::size_t count) { rest_ = rest_.part(count, rest_.size() - count); }

 private:
  IntervalSource& source_;
  Columns rest_;
  std::int64_t until_ = INT64_MIN;
  bool ended_ = false;
};

// The time in both. Requires disjoint sources, and is one.
class Intersection final : public IntervalSource {
 public:
  Intersection(IntervalSource& a, IntervalSource& b) : a_(a), b_(b) {}
  Columns next() override;

 private:
  Cursor a_, b_;
  Intervals out_;
};

// The time in `a` but not in `b`. Requires disjoint sources, and is one.
class Difference final : public IntervalSource {
 public:
  Difference(IntervalSource& a, IntervalSource& b) : a_(a), b_(b) {}
  Columns next() override;

 private:
  Cursor a_, b_;
  std::int64_t from_ = INT64_MIN;  // a_ is processed up to here
  Intervals out_;
};

// The time between the intervals of a disjoint source; with a window, all time in it that none of
// them covers. Is disjoint.
class Gaps final : public IntervalSource {
 public:
  explicit Gaps(IntervalSource& disjoint) : busy_(disjoint) {}
  Gaps(IntervalSource& disjoint, std::int64_t begin, std::int64_t end)
      : busy_(disjoint), from_(begin), window_end_(end) {}
  Columns next() override;

 private:
  Cursor busy_;
  std::optional<std::int64_t> from_;  // not busy from here on; nullopt: no interval yet
  std::optional<std::int64_t> window_end_;
  Intervals out_;
};

}  // namespace gpuprof::intervals
