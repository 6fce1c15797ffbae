// Many items in order, whatever their number: what does not fit into memory waits in a file.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <queue>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/whole.hpp"

namespace gpuprof::derive {

// Items have operator<. Those that are equal stay in the order in which they came, as long as they
// fit into memory. The file has no name and is gone with the object. One thread.
template <class Item>
class Sorted {
 public:
  static_assert(std::is_trivially_copyable_v<Item>);
  static constexpr std::size_t memory_bytes = std::size_t{64} << 20;

  explicit Sorted(std::size_t most = memory_bytes / sizeof(Item)) : most_(most) {}
  ~Sorted() {
    if (file_ >= 0) close(file_);
  }
  Sorted(const Sorted&) = delete;
  Sorted& operator=(const Sorted&) = delete;

  // Throws Error when neither memory nor the disk has room.
  void add(const Item& item) {
    if (items_.size() == most_) write_run();
    items_.push_back(item);
  }
  bool empty() const { return items_.empty() && runs_.empty(); }

  // Calls visit(item) for each, in order; again if need be. Nothing may be added afterwards.
  template <class Visit>
  void for_each(Visit&& visit) {
    sort();
    if (runs_.empty()) {
      for (const Item& item : items_) visit(item);
      return;
    }
    if (!items_.empty()) write_run();
    items_ = {};
    std::vector<Reader> readers;
    for (const Run& run : runs_) readers.emplace_back(file_, run, most_ / runs_.size() / 2 + 1);
    const auto later = [&](std::size_t a, std::size_t b) {
      const Item &left = readers[a].front(), &right = readers[b].front();
      return right < left || (!(left < right) && b < a);
    };
    std::priority_queue<std::size_t, std::vector<std::size_t>, decltype(later)> next(later);
    for (std::size_t i = 0; i < readers.size(); ++i) next.push(i);
    while (!next.empty()) {
      const std::size_t reader = next.top();
      next.pop();
      visit(readers[reader].front());
      if (readers[reader].advance()) next.push(reader);
    }
  }

 private:
  struct Run {
    std::uint64_t first = 0;  // byte in the file
    std::uint64_t items = 0;
  };

  // A run from its beginning, never empty before advance() says so.
  class Reader {
   public:
    Reader(int file, const Run& run, std::size_t at_a_time)
        : file_(file), rest_(run), at_a_time_(at_a_time) {
      fill();
    }
    const Item& front() const { return items_[at_]; }
    bool advance() {
      if (++at_ < items_.size()) return true;
      if (rest_.items == 0) return false;
      fill();
      return true;
    }

   private:
    void fill() {
      items_.resize(std::min<std::uint64_t>(rest_.items, at_a_time_));
      at_ = 0;
      if (!read_whole(file_, std::as_writable_bytes(std::span(items_)), rest_.first)) {
        throw Error(std::string("a temporary file cannot be read: ") + std::strerror(errno));
      }
      rest_.first += items_.size() * sizeof(Item);
      rest_.items -= items_.size();
    }

    int file_;
    Run rest_;
    std::size_t at_a_time_;
    std::vector<Item> items_;
    std::size_t at_ = 0;
  };

  void sort() {
    if (!std::is_sorted(items_.begin(), items_.end())) {
      std::stable_sort(items_.begin(), items_.end());
    }
  }

  void write_run() {
    sort();
    const std::string folder = TemporaryFolder::place();
    if (file_ < 0) file_ = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file_ < 0 || !write_whole(file_, std::as_bytes(std::span(items_)), written_)) {
      throw Error("no room for temporary data in " + folder + ": " + std::strerror(errno),
                  "TMPDIR names another folder");
    }
    runs_.push_back({written_, items_.size()});
    written_ += items_.size() * sizeof(Item);
    items_.clear();
  }

  std::size_t most_;
  std::vector<Item> items_;
  std::vector<Run> runs_;
  std::uint64_t written_ = 0;
  int file_ = -1;
};

}  // namespace gpuprof::derive
