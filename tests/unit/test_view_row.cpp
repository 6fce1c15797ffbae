// Rows of the viewer: what is drawn is what brute force finds.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "libprof/view/model/model.hpp"

using namespace gpuprof;
using view::Item;
using view::Piece;
using view::Scale;

namespace {

using Items = std::vector<Item>;

Items random_items(std::mt19937_64& random, std::int64_t longest, std::size_t count) {
  Items items;
  std::int64_t time = 1'000'000'000'000;
  const auto up_to = [&](std::int64_t most) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most + 1));
  };
  for (std::size_t i = 0; i < count; ++i) {
    time += random() % 7 == 0 ? up_to(20 * longest) : up_to(longest / 4);
    items.push_back({time, time + up_to(random() % 50 == 0 ? 100 * longest : longest),
                     static_cast<std::int64_t>(i), static_cast<std::uint32_t>(random() % 9), 0});
  }
  return items;
}

// Items of one table are adjacent.
view::Track track_of(const Items& items) {
  std::vector<view::RecordColumns> tables;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i == 0 || items[i].table != items[i - 1].table) tables.emplace_back();
    tables.back().add(items[i]);
  }
  view::Track track;
  view::make_rows(std::move(tables), track);
  return track;
}

// The pixels that a record touches, by the definition: p has [p, p + 1) × span / width.
std::set<std::uint32_t> touched(const Item& item, std::int64_t from, std::int64_t to,
                                std::uint32_t width) {
  std::set<std::uint32_t> pixels;
  // In units of which a ns has `width`, and a pixel `span`.
  const std::int64_t span = to - from;
  const std::int64_t begin = (std::max(item.begin, from) - from) * width;
  const std::int64_t end = (std::min(item.end, to) - from) * width;
  for (std::int64_t p = begin / span; p == begin / span || p * span < end; ++p) {
    pixels.insert(static_cast<std::uint32_t>(p));
  }
  return pixels;
}

bool is_open(const Item& item, std::int64_t from, std::int64_t to) {
  return item.begin < to && (item.end > from || item.begin >= from);
}

}  // namespace

TEST_CASE("records that overlap get further rows, and none is lost") {
  std::mt19937_64 random(1);
  for (const std::int64_t longest : {3, 1'000, 1'000'000}) {
    const Items items = random_items(random, longest, 2'000);
    const view::Track track = track_of(items);
    std::set<std::int64_t> ids;
    bool good = true;
    for (const auto& each : track.rows) {
      const view::TrackRow& row = *each;
      for (std::size_t i = 0; i < row.size(); ++i) {
        good = good && ids.insert(row[i].id).second;
        good = good && (i == 0 || row.end(i - 1) <= row.begin(i));
        const Item& same = items[static_cast<std::size_t>(row[i].id)];
        good = good && same.begin == row[i].begin && same.end == row[i].end &&
               same.name == row[i].name;
      }
    }
    CHECK(good);
    CHECK(ids.size() == items.size());
    CHECK(track.left_out == 0);
    CHECK(track.records == 2'000);
  }
}

// Those of a table that only has what is inside of another's records are a row without being
// copied.
TEST_CASE("records of two tables are in rows by depth, in whatever order each is read") {
  constexpr std::int64_t count = 140'000;
  for (const bool mixed : {false, true}) {
    Items outer, inner;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = 100 * (i % 7 == 0 && i + 1 < count ? i + 1
                                        : i % 7 == 1                ? i - 1
                                                                    : i);
      outer.push_back({begin, begin + 90, i, 1, 0});
      if (i % 2 == 0) inner.push_back({begin + 10, begin + 20, i, 2, 1});
      if (mixed && i == count - 1) inner.push_back({begin + 95, begin + 99, i, 3, 1});
    }
    Items items = outer;
    items.insert(items.end(), inner.begin(), inner.end());
    const view::Track track = track_of(items);
    REQUIRE(track.rows.size() == 2);
    REQUIRE(track.rows[0]->size() == outer.size() + mixed);
    REQUIRE(track.rows[1]->size() == inner.size() - mixed);
    CHECK(track.records == static_cast<std::int64_t>(items.size()));
    bool good = true;
    for (std::size_t row = 0; row < 2; ++row) {
      std::size_t seen = 0;
      const std::size_t own = track.rows[row]->size() - (row == 0 && mixed);
      track.rows[row]->visit({0, own}, [&](const view::Part& part, std::size_t first) {
        seen += part.size();
        for (std::size_t i = 0; i < part.size(); ++i) {
          const Item item = (*track.rows[row])[first + i];
          good = good && item.begin == part.times.begin[i] && item.end == part.times.end[i] &&
                 item.name == part.names[i] && item.table == part.tables[i];
          good = good && item.name == row + 1 && item.table == row;
          const Item& same = outer[static_cast<std::size_t>(item.id)];
          good = good && item.begin == same.begin + (row == 0 ? 0 : 10);
          good = good && (first + i == 0 || track.rows[row]->end(first + i - 1) <= item.begin);
        }
      });
      CHECK(seen == own);
    }
    CHECK(good);
  }
}

TEST_CASE("long records and any ids are kept, also of records in reverse order") {
  constexpr std::int64_t count = 300, apart = 10'000'000'000;
  Items items;
  for (std::int64_t i = count; i-- > 0;) {
    const std::int64_t begin = apart * (1 + i);
    items.push_back({begin + 1, begin + 4, i % 2 == 0 ? INT64_MAX - i : i, 5, 0});
    items.push_back({begin, begin + apart - i, i % 3 == 0 ? -1 - i : (i << 40) + i, 6, 0});
  }
  const view::Track track = track_of(items);
  REQUIRE(track.rows.size() == 2);
  bool good = true;
  for (std::size_t row = 0; row < 2; ++row) {
    REQUIRE(track.rows[row]->size() == count);
    track.rows[row]->visit({0, count}, [&](const view::Part& part, std::size_t first) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        const std::size_t place = first + i;
        const Item &was = items[2 * (count - 1 - place) + (row == 0)],
                   is = (*track.rows[row])[place];
        good = good && is.begin == was.begin && is.end == was.end && is.id == was.id;
        good = good && part.times.end[i] == was.end && track.rows[row]->end(place) == was.end;
      }
    });
  }
  CHECK(good);
  const view::Tile tile = view::make_tile(track, 0, apart * (count + 1), 1);
  CHECK(tile.rows[0][0].longest == apart);
  CHECK(tile.rows[1][0].longest == 3);
}

TEST_CASE("nested records are in rows by depth, whatever order they come in") {
  Items items = {{30, 40, 3, 0, 0}, {10, 50, 1, 0, 0}, {10, 20, 2, 0, 0},
                 {32, 38, 4, 0, 0}, {60, 60, 5, 0, 0}, {12, 15, 6, 0, 1}};
  const view::Track track = track_of(items);
  REQUIRE(track.rows.size() == 3);
  CHECK(track.rows[0]->size() == 2);
  CHECK((*track.rows[0])[0].id == 1);
  CHECK((*track.rows[0])[1].id == 5);
  CHECK((*track.rows[1])[0].id == 2);
  CHECK((*track.rows[1])[1].id == 3);
  CHECK((*track.rows[2])[0].id == 6);
  CHECK((*track.rows[2])[1].id == 4);
}

TEST_CASE("records beyond the last row are counted") {
  Items items;
  for (int i = 0; i < 200; ++i) items.push_back({100 + i, 1000, i, 0, 0});
  const view::Track track = track_of(items);
  CHECK(track.rows.size() == timeline::most_rows);
  CHECK(track.left_out == 200 - static_cast<std::int64_t>(timeline::most_rows));
  CHECK(track.records == 200);
}

TEST_CASE("what is drawn of a window equals brute force") {
  std::mt19937_64 random(2);
  std::size_t buckets = 0, records = 0;
  for (int round = 0; round < 1'000; ++round) {
    const std::int64_t longest = std::int64_t{1} << random() % 24;
    const std::size_t count = 1 + random() % 1'500;
    const view::Track track = track_of(random_items(random, longest, count));
    const std::int64_t begin = 1'000'000'000'000,
                       end = track.rows[0]->end(track.rows[0]->size() - 1);
    const auto span = static_cast<std::uint64_t>(std::max<std::int64_t>(end - begin, 4));
    const std::int64_t from = begin - 3 + static_cast<std::int64_t>(random() % span);
    const std::int64_t to = from + 1 + static_cast<std::int64_t>(random() % (2 * span));
    const auto width = static_cast<std::uint32_t>(1 + random() % 2'000);
    const view::Tile tile = view::make_tile(track, from, to, width);
    REQUIRE(tile.rows.size() == track.rows.size());
    for (std::size_t r = 0; r < track.rows.size(); ++r) {
      const view::TrackRow& row = *track.rows[r];
      std::set<std::uint32_t> expected, drawn, bucket_pixels, wide_pixels;
      std::size_t open = 0, covered = 0;
      bool good = true;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (!is_open(row[i], from, to)) continue;
        ++open;
        expected.merge(touched(row[i], from, to, width));
      }
      for (const Piece& piece : tile.rows[r]) {
        for (std::uint32_t p = piece.x; p < piece.x_end; ++p) drawn.insert(p);
        covered += piece.count;
        good = good && piece.x_end <= width;
        std::uint64_t busy = 0;
        std::uint32_t longest_place = piece.first;
        for (std::uint32_t i = piece.first; i < piece.first + piece.count; ++i) {
          good = good && is_open(row[i], from, to);
          busy += static_cast<std::uint64_t>(row.end(i) - row.begin(i));
          if (row.end(i) - row.begin(i) > row.end(longest_place) - row.begin(longest_place)) {
            longest_place = i;
          }
          const bool wide = static_cast<__int128>(row.end(i) - row.begin(i)) * width >= to - from;
          good = good && (!wide || piece.count == 1);
        }
        const Item its = row[longest_place];
        good = good && piece.busy == busy && piece.longest_place == longest_place &&
               piece.longest_name == its.name &&
               piece.longest == static_cast<std::uint64_t>(its.end - its.begin);
        const bool wide =
            static_cast<__int128>(row.end(piece.first) - row.begin(piece.first)) * width >=
            to - from;
        if (row.begin(piece.first) >= from) {
          good = good && (wide ? wide_pixels : bucket_pixels).insert(piece.x).second;
        }
        (piece.count > 1 ? buckets : records) += 1;
      }
      REQUIRE(good);
      REQUIRE(covered == open);
      std::vector<std::uint32_t> differ;
      std::ranges::set_symmetric_difference(drawn, expected, std::back_inserter(differ));
      CAPTURE(from, to, width, differ);
      REQUIRE(differ.empty());
    }
  }
  CHECK(buckets > 1'000);
  CHECK(records > 1'000);
}

TEST_CASE("times of any size have their pixels") {
  const Scale all(1, INT64_MAX, 2'000);
  CHECK(all.pixel(1) == 0);
  CHECK(all.pixel(INT64_MAX - 1) == 1'999);
  CHECK(all.begin_of(0) == 1);
  CHECK(all.begin_of(2'000) == INT64_MAX);
  const Scale small(10, 13, 2'000);
  CHECK(small.pixel(11) == 666);
  CHECK(small.pixel(small.begin_of(700)) >= 700);
}

TEST_CASE("points of a counter have what its values were") {
  view::Track track;
  track.kind = view::TrackKind::counter;
  track.counter.time = {10, 20, 21, 22, 90};
  track.counter.value = {1, 5, -2, 3, 7};
  const view::Tile tile = view::make_tile(track, 15, 55, 4);
  CHECK(tile.before == 1);
  REQUIRE(tile.points.size() == 1);
  CHECK((tile.points[0].x == 0 && tile.points[0].least == -2 && tile.points[0].most == 5 &&
         tile.points[0].last == 3));
  CHECK(view::make_tile(track, 100, 200, 4).before == 7);
  CHECK_FALSE(view::make_tile(track, 1, 5, 4).before);
}
