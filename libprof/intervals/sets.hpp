// Union, intersection, difference and gaps, each a Source again, so that one can stand on another:
//
//   InMemory kernels(...), copies(...);
//   Union computing(kernels), copying(copies);
//   Difference exposed(copying, computing);
//   const std::int64_t ns = busy(exposed);
//
// What a Source is made of must outlive it, and is used up by it.
#pragma once

#include <optional>

#include "libprof/intervals/intervals.hpp"

namespace gpuprof::intervals {

// Several sources as one, in order.
class Merged final : public Source {
 public:
  explicit Merged(const std::vector<Source*>& sources);
  Columns next() override;

 private:
  struct Front {
    Source* source;
    Columns chunk;
    std::size_t at;
    std::int64_t begin() const { return chunk.begin[at]; }
    std::int64_t end() const { return chunk.end[at]; }
  };
  static bool later(const Front& a, const Front& b) { return a.begin() > b.begin(); }

  std::vector<Front> fronts_;  // a heap, the earliest on top
  Intervals out_;
};

// The time in which at least one is open, for chunks that are pushed. Intervals that touch become
// one.
class UnionBuilder {
 public:
  // What is complete by now; good until the next call.
  Columns add(Columns chunk);
  // What was still open. Afterwards it can start anew.
  Columns finish();

 private:
  std::int64_t last_ = INT64_MIN;
  std::int64_t begin_ = INT64_MIN;  // of the open one; empty: there is none
  std::int64_t end_ = INT64_MIN;
  Intervals out_;
};

class Union final : public Source {
 public:
  explicit Union(Source& source) : source_(source) {}
  Columns next() override;

 private:
  Source& source_;
  UnionBuilder builder_;
  bool ended_ = false;
};

// The chunk of a disjoint source that is worked on.
class Cursor {
 public:
  explicit Cursor(Source& source) : source_(source) {}
  bool done();  // asked before anything else; gets the next chunk when this one is used up
  const Columns& rest() const { return rest_; }
  void advance(std::size_t count) { rest_ = rest_.part(count, rest_.size() - count); }

 private:
  Source& source_;
  Columns rest_;
  std::int64_t until_ = INT64_MIN;
  bool ended_ = false;
};

// The time in both. Takes disjoint sources, and is one.
class Intersection final : public Source {
 public:
  Intersection(Source& a, Source& b) : a_(a), b_(b) {}
  Columns next() override;

 private:
  Cursor a_, b_;
  Intervals out_;
};

// The time in `a` and not in `b`. Takes disjoint sources, and is one.
class Difference final : public Source {
 public:
  Difference(Source& a, Source& b) : a_(a), b_(b) {}
  Columns next() override;

 private:
  Cursor a_, b_;
  std::int64_t from_ = INT64_MIN;  // a_ is done up to here
  Intervals out_;
};

// The time between the intervals of a disjoint source; with a window, all time in it that is in
// none of them. Is disjoint.
class Gaps final : public Source {
 public:
  explicit Gaps(Source& disjoint) : busy_(disjoint) {}
  Gaps(Source& disjoint, std::int64_t begin, std::int64_t end)
      : busy_(disjoint), from_(begin), window_end_(end) {}
  Columns next() override;

 private:
  Cursor busy_;
  std::optional<std::int64_t> from_;  // nothing is busy from here on; none: nothing has come yet
  std::optional<std::int64_t> window_end_;
  Intervals out_;
};

}  // namespace gpuprof::intervals
