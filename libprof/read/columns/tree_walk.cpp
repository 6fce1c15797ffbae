#include "libprof/read/columns/tree_walk.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "libprof/read/columns/bytes.hpp"

namespace gpuprof::columns {
namespace {

constexpr std::uint8_t inner_page = 5;
constexpr std::size_t inner_header = 12;
constexpr std::size_t most_levels = 20;  // SQLite's own limit
constexpr std::size_t child_number = 4;  // bytes, at the beginning of a cell

}  // namespace

TreeWalk::TreeWalk(const Plan::Tree& tree, std::size_t pages_at_a_time,
                   std::optional<std::vector<RowIds>> needed)
    : tree_(tree),
      pages_at_a_time_(pages_at_a_time),
      needed_(std::move(needed)),
      page_(tree.page_size + longest_varint) {}

bool TreeWalk::is_needed(std::int64_t first, std::int64_t last) const {
  if (!needed_) return true;
  const auto its = std::ranges::lower_bound(*needed_, first, {}, &RowIds::last);
  return its != needed_->end() && its->first <= last;
}

bool TreeWalk::read_page(store::Database& database, std::uint32_t number) {
  if (number < 2 || number > tree_.pages) return false;  // page 1 is the root of sqlite_master
  const std::span<std::uint8_t> bytes(page_.data(), tree_.page_size);
  return database.read_file(static_cast<std::int64_t>((number - 1) * tree_.page_size),
                            std::as_writable_bytes(bytes));
}

// Pushes an inner page onto `above_`. False: it is invalid.
bool TreeWalk::open(store::Database& database, std::uint32_t number, std::int64_t first,
                    std::int64_t last) {
  if (!read_page(database, number) || page_[0] != inner_page) return false;
  const std::size_t cells = big_endian_16(&page_[3]);
  const std::size_t begin = inner_header + 2 * cells;
  if (cells == 0 || begin > tree_.page_size) return false;
  Inner inner{.first = first};
  inner.children.reserve(cells + 1);
  inner.last_ids.reserve(cells + 1);
  for (std::size_t i = 0; i < cells; ++i) {
    const std::size_t at = big_endian_16(&page_[inner_header + 2 * i]);
    if (at < begin || at + child_number >= tree_.page_size) return false;
    const std::uint8_t* key = &page_[at + child_number];
    const auto id = static_cast<std::int64_t>(varint(key));
    if (key > &page_[0] + tree_.page_size) return false;
    if (id < first || id >= last || (i > 0 && id <= inner.last_ids.back())) return false;
    inner.children.push_back(big_endian_32(&page_[at]));
    inner.last_ids.push_back(id);
  }
  inner.children.push_back(big_endian_32(&page_[8]));
  inner.last_ids.push_back(last);
  above_.push_back(std::move(inner));
  return true;
}

// The depth of the leaves below the root, measured at the first one.
bool TreeWalk::find_depth(store::Database& database) {
  std::uint32_t number = tree_.root;
  for (depth_ = 0; depth_ < most_levels; ++depth_) {
    if (!read_page(database, number)) return false;
    if (page_[0] == leaf_page) return true;
    const std::size_t at = big_endian_16(&page_[inner_header]);
    if (page_[0] != inner_page || at + child_number > tree_.page_size) return false;
    number = big_endian_32(&page_[at]);
  }
  return false;
}

std::optional<Stretch> TreeWalk::next(store::Database& database) {
  constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
  if (!begun_) {
    begun_ = true;
    if (find_depth(database) && depth_ == 0) {
      return Stretch{
          .first = lowest, .last = highest, .pages = {tree_.root}, .last_ids = {highest}};
    }
    if (depth_ == most_levels || !open(database, tree_.root, lowest, highest)) {
      return Stretch{.first = lowest, .last = highest};
    }
  }
  while (!above_.empty()) {
    Inner& inner = above_.back();
    const std::size_t count = inner.children.size();
    while (inner.next < count && !is_needed(inner, inner.next)) ++inner.next;
    if (inner.next == count) {
      above_.pop_back();
      continue;
    }
    const std::size_t from = inner.next++;
    Stretch stretch{.first = inner.first_of(from)};
    if (above_.size() < depth_) {
      stretch.last = inner.last_ids[from];
      if (!open(database, inner.children[from], stretch.first, stretch.last)) return stretch;
      continue;
    }
    while (inner.next < std::min(from + pages_at_a_time_, count) && is_needed(inner, inner.next)) {
      ++inner.next;
    }
    const auto begin = static_cast<std::ptrdiff_t>(from),
               end = static_cast<std::ptrdiff_t>(inner.next);
    stretch.pages.assign(inner.children.begin() + begin, inner.children.begin() + end);
    stretch.last_ids.assign(inner.last_ids.begin() + begin, inner.last_ids.begin() + end);
    stretch.last = stretch.last_ids.back();
    return stretch;
  }
  return std::nullopt;
}

}  // namespace gpuprof::columns
