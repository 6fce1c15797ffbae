// Sorting any number of items.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/large_vector.hpp"
#include "libprof/base/merge.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/whole.hpp"
#include "libprof/compute/sort_runs.hpp"

namespace gpuprof::compute {

// Sorts items that are nearly in order: none may be more than some hundred thousand places off.
// Used by one thread.
template <class Item>
class NearlySorted {
 public:
  static constexpr std::size_t memory_bytes = std::size_t{16} << 20;

  explicit NearlySorted(std::size_t most = memory_bytes / sizeof(Item)) : most_(most) {}

  // Calls visit(item) for some of the items added before.
  template <class Visit>
  void add(const Item& item, Visit&& visit) {
    if (items_.size() == most_) hand_out(most_ / 2, visit);
    if (items_.size() == items_.capacity()) make_room();
    items_.push_back(item);
  }
  // Visits the rest. False: some items were too far out of place, and not all were visited.
  template <class Visit>
  bool finish(Visit&& visit) {
    hand_out(items_.size(), visit);
    return in_order_;
  }

 private:
  // Many tables have a few rows, and a sanitizer marks all memory that is reserved.
  void make_room() {
    constexpr std::size_t few = 1024;
    items_.reserve(std::min(std::max(few, items_.capacity() * 4), most_));
  }

  template <class Visit>
  void hand_out(std::size_t count, Visit&& visit) {
    const auto fresh = items_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    const auto end = items_.begin() + static_cast<std::ptrdiff_t>(count);
    sort_runs(std::span(fresh, items_.end()));
    if (fresh != items_.begin() && fresh != items_.end() && *fresh < *(fresh - 1)) {
      std::inplace_merge(items_.begin(), fresh, items_.end());
    }
    if (last_ && !items_.empty() && items_.front() < *last_) in_order_ = false;
    if (in_order_) {
      for (auto item = items_.begin(); item != end; ++item) visit(*item);
    }
    if (count > 0) last_ = *(end - 1);
    items_.erase(items_.begin(), end);
    sorted_ = items_.size();
  }

  std::size_t most_;
  std::vector<Item> items_;
  std::size_t sorted_ = 0;  // length of the sorted prefix
  std::optional<Item> last_;
  bool in_order_ = true;
};

inline constexpr std::size_t default_sort_memory = std::size_t{4} << 20;

// What does not fit into memory waits in an unnamed file, which disappears with the object. The
// sort is stable. Used by one thread.
template <class Item>
class Sorted {
 public:
  static_assert(std::is_trivially_copyable_v<Item>);

  // `most`: how many items are sorted at a time. `kept`: how many sorted ones stay in memory.
  explicit Sorted(std::size_t most = default_sort_memory / sizeof(Item), std::size_t kept = 0)
      : most_(most), room_(kept) {}
  ~Sorted() {
    if (file_ >= 0) close(file_);
  }
  Sorted(const Sorted&) = delete;
  Sorted& operator=(const Sorted&) = delete;

  // Throws Error when neither memory nor the disk has room.
  void add(const Item& item) {
    make_room();
    items_.push_back(item);
  }
  // An item of these parts, which is not copied.
  template <class... Parts>
  void emplace(const Parts&... parts) {
    make_room();
    items_.emplace_back(parts...);
  }
  bool empty() const { return items_.empty() && runs_.empty(); }

  // Calls visit(item) for each, in order; may be repeated. Nothing may be added afterwards.
  template <class Visit>
  void for_each(Visit&& visit) {
    for (Cursor cursor(*this); !cursor.at_end(); cursor.advance()) visit(cursor.front());
  }

  class Cursor;

 private:
  static constexpr std::size_t large = std::size_t{4} << 20;  // bytes

  struct Run {
    std::uint64_t first = 0;  // byte in the file
    std::uint64_t items = 0;
    LargeVector<Item> kept = {};  // empty: it is in the file
  };

  // A run, or the items in memory.
  class Source {
   public:
    explicit Source(std::span<const Item> items) : rest_(items) {}
    Source(int file, const Run& run, std::size_t at_a_time)
        : file_(file), first_(run.first), left_(run.items), at_a_time_(at_a_time) {}

    const Item& front() const { return *item_; }
    bool next() {
      if (rest_.empty()) fill();
      if (rest_.empty()) return false;
      item_ = rest_.data();
      rest_ = rest_.subspan(1);
      return true;
    }
    bool is_before(const Source& other) const { return front() < other.front(); }

   private:
    void fill() {
      items_.resize(std::min<std::uint64_t>(left_, at_a_time_));
      if (!read_whole(file_, std::as_writable_bytes(std::span(items_)), first_)) {
        throw Error(std::string("a temporary file cannot be read: ") + std::strerror(errno));
      }
      first_ += items_.size() * sizeof(Item);
      left_ -= items_.size();
      rest_ = items_;
    }

    const int file_ = -1;
    std::uint64_t first_ = 0, left_ = 0;  // byte in the file, and items, that were not read yet
    const std::size_t at_a_time_ = 0;
    std::vector<Item> items_;
    std::span<const Item> rest_;
    const Item* item_ = nullptr;
  };

  // Afterwards all items are in runs, or sorted in memory.
  void end_adding() {
    sort();
    if (runs_.empty() || items_.empty()) return;
    end_run();
    items_ = {};
  }

  void make_room() {
    if (items_.size() == most_) end_run();
    // What is reserved takes no memory until it is used; what grows is copied.
    if (items_.size() == items_.capacity() && items_.size() * sizeof(Item) >= large) {
      items_.reserve(most_);
    }
  }

  void sort() { sort_runs(std::span(items_)); }

  void end_run() {
    sort();
    if (items_.size() <= room_) {
      room_ -= items_.size();
      runs_.push_back({.items = items_.size(), .kept = std::move(items_)});
      items_ = {};
    } else {
      write_run();
    }
  }

  void write_run() {
    const std::string folder = TemporaryFolder::place();
    if (file_ < 0) file_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0 || !write_whole(file_, std::as_bytes(std::span(items_)), written_)) {
      throw Error("no room for temporary data in " + folder + ": " + std::strerror(errno),
                  "TMPDIR names another folder");
    }
    runs_.push_back({.first = written_, .items = items_.size()});
    written_ += items_.size() * sizeof(Item);
    items_.clear();
  }

  const std::size_t most_;
  std::size_t room_;  // for sorted items in memory
  LargeVector<Item> items_;
  std::vector<Run> runs_;
  std::uint64_t written_ = 0;
  int file_ = -1;
};

// Iterates over the sorted items, which must outlive it. Nothing may be added afterwards.
template <class Item>
class Sorted<Item>::Cursor {
 public:
  explicit Cursor(Sorted& sorted) {
    sorted.end_adding();
    items_.add(std::make_unique<Source>(sorted.items_));
    for (const Run& run : sorted.runs_) {
      const std::size_t at_a_time = sorted.most_ / sorted.runs_.size() / 2 + 1;
      items_.add(run.kept.empty() ? std::make_unique<Source>(sorted.file_, run, at_a_time)
                                  : std::make_unique<Source>(run.kept));
    }
    items_.next();
  }

  bool at_end() const { return !items_.current(); }
  const Item& front() const { return items_.current()->front(); }
  void advance() { items_.next(); }

 private:
  Merge<Source> items_;  // runs hardly overlap
};

}  // namespace gpuprof::compute
