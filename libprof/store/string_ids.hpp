// Maps a stream's string ids to rows of StringTable.
//
// Ids count up from 1, but a stream may send any: memory is allocated in pages for the ids that
// arrived, up to a limit. Beyond it the oldest pages are dropped. A collector restarts its ids long
// before that (collect/strings.hpp). A collector of an older gpuprof keeps counting, and never
// refers to a string that old again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gpuprof::store {

class StringIds {
 public:
  // Number of ids kept: a collector starts over at 131,072, and a batch of a 1 MiB slot has some
  // 50,000 new ones.
  static constexpr std::size_t most_ids = 1 << 18;

  // 0: unknown id.
  std::int64_t of(std::uint32_t id) const {
    const std::size_t page = id / page_ids;
    if (page >= places_.size() || places_[page] == 0) return 0;
    return pages_[places_[page] - 1]->ids[id % page_ids];
  }
  // `id` is at most wire::max_string_id.
  void set(std::uint32_t id, std::int64_t string) {
    const std::uint32_t number = id / page_ids;
    if (number >= places_.size()) places_.resize(number + 1);
    if (places_[number] == 0) add_page(number);
    pages_[places_[number] - 1]->ids[id % page_ids] = string;
  }
  // Calls f(string) for each string that an id stands for, and for 0.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& page : pages_) {
      for (const std::int64_t string : page->ids) f(string);
    }
  }
  void clear() {
    places_ = std::vector<std::uint32_t>();
    pages_ = std::vector<std::unique_ptr<Page>>();
    oldest_ = 0;
  }

 private:
  static constexpr std::uint32_t page_ids = 512;
  struct Page {
    std::uint32_t number = 0;
    std::array<std::int64_t, page_ids> ids{};
  };

  void add_page(std::uint32_t number) {
    if (pages_.size() < most_ids / page_ids) {
      pages_.push_back(std::make_unique<Page>(Page{number, {}}));
      places_[number] = static_cast<std::uint32_t>(pages_.size());
      return;
    }
    Page& page = *pages_[oldest_];
    places_[number] = std::exchange(places_[page.number], 0);
    page = Page{number, {}};
    oldest_ = (oldest_ + 1) % pages_.size();
  }

  std::vector<std::uint32_t> places_;  // by page number: index in pages_, from 1; 0: none
  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t oldest_ = 0;  // next to be replaced once all pages are in use
};

}  // namespace gpuprof::store
