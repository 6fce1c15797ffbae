// A stream's string ids, and what they are in StringTable.
//
// Ids count up from 1, and a stream may say any: memory goes by the ids that came, in pages, and
// has a limit. Beyond it the pages that have been there longest are given up. A collector starts
// its ids over long before that (collect/strings.hpp). One of an older gpuprof counts on, and never
// names a string again that it sent so long ago.
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
  // Ids that are kept: a collector starts over at 131,072, and a batch of a slot of 1 MiB has some
  // 50,000 fresh ones.
  static constexpr std::size_t most_ids = 1 << 18;

  // 0: the id never came.
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

  std::vector<std::uint32_t> places_;  // by the number of the page: in pages_, from 1; 0: none
  std::vector<std::unique_ptr<Page>> pages_;
  std::size_t oldest_ = 0;  // once there are as many as may be
};

}  // namespace gpuprof::store
