// Merged sources against a stable sort of all their rows.
#include <algorithm>
#include <catch2/catch.hpp>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "libprof/base/merge.hpp"

namespace {

struct MergeTestSource {
  std::vector<std::pair<int, int>> rows;  // key and source
  std::size_t at = 0;                     // of the next row

  const std::pair<int, int>& row() const { return rows[at - 1]; }
  bool next() { return at < rows.size() && ++at > 0; }
  bool is_before(const MergeTestSource& other) const { return row().first < other.row().first; }
};

}  // namespace

TEST_CASE("merge: rows in order, equal ones in the order of their sources") {
  std::mt19937 random(3);
  for (int turn = 0; turn < 200; ++turn) {
    gpuprof::Merge<MergeTestSource> merge;
    std::vector<std::pair<int, int>> expected, found;
    const int count = static_cast<int>(random() % 7);
    for (int i = 0; i < count; ++i) {
      auto source = std::make_unique<MergeTestSource>();
      for (auto left = random() % 30; left > 0; --left) {
        source->rows.emplace_back(static_cast<int>(random() % 20), i);
      }
      std::ranges::sort(source->rows);
      expected.insert(expected.end(), source->rows.begin(), source->rows.end());
      merge.add(std::move(source));
    }
    std::ranges::stable_sort(expected, {}, [](const auto& row) { return row.first; });
    CHECK_FALSE(merge.current());
    while (const MergeTestSource* source = merge.next()) {
      CHECK(source == merge.sources()[merge.place()].get());
      found.push_back(source->row());
    }
    CHECK(found == expected);
    CHECK_FALSE(merge.current());
    CHECK_FALSE(merge.next());
  }
}
