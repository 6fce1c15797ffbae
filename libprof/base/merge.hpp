// Several sorted sources as one sequence.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace gpuprof {

// A Source has
//
//   bool next();                                moves to its first or next row; false: no more rows
//   bool is_before(const Source& other) const;  compares current rows
//
// If neither of two rows is before the other, that of the source added first comes first. While a
// source's rows precede all others, each costs one comparison.
template <class Source>
class Merge {
 public:
  void add(std::unique_ptr<Source> source) { sources_.push_back(std::move(source)); }
  const std::vector<std::unique_ptr<Source>>& sources() const { return sources_; }

  // The source of the next row. Null: there are no more rows.
  Source* next() {
    if (!std::exchange(begun_, true)) {
      for (std::size_t i = 0; i < sources_.size(); ++i) {
        if (sources_[i]->next()) wait(i);
      }
    } else if (!current_) {
      return nullptr;
    } else if (current_->next()) {
      if (waiting_.empty() || later(waiting_.front(), place_)) return current_;
      wait(place_);
    }
    current_ = nullptr;
    if (waiting_.empty()) return nullptr;
    std::ranges::pop_heap(waiting_, Later{*this});
    place_ = waiting_.back();
    waiting_.pop_back();
    return current_ = sources_[place_].get();
  }
  // The source of the current row, and its place in the order of adding. Null before the first
  // row and after the last.
  Source* current() const { return current_; }
  std::size_t place() const { return place_; }

 private:
  struct Later {
    const Merge& merge;
    bool operator()(std::size_t a, std::size_t b) const { return merge.later(a, b); }
  };
  bool later(std::size_t a, std::size_t b) const {
    const Source &left = *sources_[a], &right = *sources_[b];
    return right.is_before(left) || (b < a && !left.is_before(right));
  }
  void wait(std::size_t place) {
    waiting_.push_back(place);
    std::ranges::push_heap(waiting_, Later{*this});
  }

  std::vector<std::unique_ptr<Source>> sources_;
  std::vector<std::size_t> waiting_;  // a heap, the next one on top; without the current one
  Source* current_ = nullptr;
  std::size_t place_ = 0;
  bool begun_ = false;
};

}  // namespace gpuprof
