// NVTX_RANGE: markers made into ranges that nest.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>
#include <random>

#include "libprof/store/loader.hpp"
#include "libprof/wire/limits.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using test::BatchBuilder;
using test::make_loader;
using test::Mark;
using test::rows;

namespace {

std::string nvtx_ranges(const std::vector<Mark>& marks, const wire::Encoder* data = nullptr,
                        std::uint32_t data_rows = 0,
                        const std::string& columns = "id, start, stop, depth, parent, kind") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::marker));
  loader.load(test::table(1, test::tables::marker_data));
  wire::Encoder packed;
  for (const Mark& mark : marks) test::add_mark(packed, mark);
  BatchBuilder batch;
  batch.strings({{1, "outer"}, {2, "inner"}, {3, "domain A"}, {4, "domain B"}});
  batch.rows(12, static_cast<std::uint32_t>(marks.size()), packed);
  if (data) batch.rows(13, data_rows, *data);
  loader.load(batch.frame(1));
  loader.finish();
  return rows(loader.database(), "SELECT " + columns + " FROM NVTX_RANGE ORDER BY _id_");
}

constexpr std::uint32_t open = 2, closed = 4, mark = 1;

}  // namespace

TEST_CASE("nested ranges know their depth and parent") {
  CHECK(nvtx_ranges({{open, 10, 1, 1},
                     {open, 20, 2, 2},
                     {closed, 30, 2},
                     {open, 30, 3, 2},
                     {closed, 40, 3},
                     {closed, 41, 1},
                     {open, 50, 4, 1},
                     {closed, 50, 4}}) ==
        "1|10|41|0|-|push_pop 2|20|30|1|1|push_pop 3|30|40|1|1|push_pop 4|50|50|0|-|push_pop");
}

TEST_CASE("ranges nest within their thread and domain only") {
  CHECK(nvtx_ranges({{open, 10, 1, 1, 0, 7},
                     {open, 11, 2, 1, 0, 8},
                     {open, 12, 3, 1, 3, 7},
                     {open, 13, 4, 1, 4, 7},
                     {open, 14, 5, 1, 3, 7},
                     {closed, 15, 1, 0, 0, 7},
                     {closed, 16, 5, 0, 0, 7},
                     {closed, 17, 2, 0, 0, 8},
                     {closed, 18, 3, 0, 0, 7},
                     {closed, 19, 4, 0, 0, 7}}) ==
        "1|10|15|0|-|push_pop 2|11|17|0|-|push_pop 3|12|18|0|-|push_pop "
        "4|13|19|0|-|push_pop 5|14|16|1|3|push_pop");
}

TEST_CASE("ranges without an end, ends without a range, and marks") {
  CHECK(nvtx_ranges({{open, 10, 1, 1},
                     {mark, 12, 5, 1},
                     {closed, 15, 99},
                     {open, 20, 2, 2},
                     {closed, 30, 2},
                     {closed, 31, 2}}) == "1|10|-|0|-|push_pop 2|20|30|1|1|push_pop");
  CHECK(nvtx_ranges({}).empty());
  CHECK(nvtx_ranges({{closed, 1, 1}}).empty());
}

TEST_CASE("start and end ranges may cross, and are nobody's parent") {
  CHECK(nvtx_ranges({{open, 10, 1, 1, 0, 0, 1},
                     {open, 15, 2, 1, 0, 7, 2},
                     {open, 20, 3, 2, 0, 0, 1},
                     {closed, 30, 1, 0, 0, 0, 1},
                     {closed, 35, 2},
                     {closed, 40, 3, 0, 0, 0, 1}}) ==
        "1|10|30|-|-|start_end 2|15|35|0|-|push_pop 3|20|40|-|-|start_end");
}

TEST_CASE("markers are paired by time, not by the order they came in") {
  CHECK(nvtx_ranges({{closed, 40, 1}, {closed, 30, 2}, {open, 20, 2, 2}, {open, 10, 1, 1}}) ==
        "1|10|40|0|-|push_pop 2|20|30|1|1|push_pop");
}

TEST_CASE("ranges that cross are start_end, in whatever order they close") {
  // First in, first out: each crosses the next.
  CHECK(nvtx_ranges({{open, 10, 1, 1},
                     {open, 11, 2, 1},
                     {open, 12, 3, 1},
                     {closed, 20, 1},
                     {closed, 21, 2},
                     {open, 22, 4, 1},
                     {closed, 23, 4},
                     {closed, 24, 3}}) ==
        "1|10|20|-|-|start_end 2|11|21|-|-|start_end 3|12|24|-|-|start_end 4|22|23|0|-|push_pop");
  // One that ends in another thread crosses nothing by that.
  CHECK(nvtx_ranges({{open, 10, 1, 1},
                     {open, 11, 2, 1},
                     {open, 12, 3, 1},
                     {closed, 20, 2, 0, 0, 8},
                     {closed, 21, 3},
                     {closed, 22, 1}}) ==
        "1|10|22|0|-|push_pop 2|11|20|-|-|start_end 3|12|21|1|1|push_pop");
}

namespace {

// What nvtx_ranges() says of ranges of threads whose ids are given once: each that is open is
// looked at, at each end.
std::string plain_nvtx_ranges(const std::vector<Mark>& marks) {
  struct Range {
    const Mark* start;
    const Mark* end = nullptr;
    bool start_end = false;
    std::size_t depth = 0;
    std::uint32_t parent = 0;
  };
  std::vector<Range> ranges;
  const auto same_place = [](const Range& one, const Range& other) {
    return one.start->thread == other.start->thread && one.start->domain == other.start->domain;
  };
  for (const Mark& each : marks) {
    if (each.flags == open) {
      ranges.push_back({&each});
      continue;
    }
    const auto range = std::ranges::find_if(
        ranges, [&](const Range& one) { return one.start->id == each.id && !one.end; });
    if (range == ranges.end()) continue;
    range->end = &each;
    if (each.thread != 0 && each.thread != range->start->thread) {
      range->start_end = true;
      continue;
    }
    for (auto inner = range + 1; inner != ranges.end(); ++inner) {
      if (!inner->end && same_place(*range, *inner)) range->start_end = inner->start_end = true;
    }
  }
  std::string text;
  for (auto range = ranges.begin(); range != ranges.end(); ++range) {
    for (auto outer = ranges.begin(); outer != range; ++outer) {
      const bool over = outer->end && outer->end < range->start;
      if (over || outer->start_end || !same_place(*outer, *range)) continue;
      ++range->depth;
      range->parent = static_cast<std::uint32_t>(outer - ranges.begin()) + 1;
    }
    const auto field = [&](bool there, std::uint64_t value) {
      text += "|" + (there ? std::to_string(value) : "-");
    };
    text += (text.empty() ? "" : " ") + std::to_string(range->start->id);
    field(true, range->start->timestamp);
    field(range->end, range->end ? range->end->timestamp : 0);
    field(!range->start_end, range->depth);
    field(!range->start_end && range->parent, range->parent);
    text += range->start_end ? "|start_end" : "|push_pop";
  }
  return text;
}

}  // namespace

TEST_CASE("ranges in any order are what a look at all of them says") {
  const auto seed = GENERATE(range(1u, 41u));
  CAPTURE(seed);
  std::mt19937 random(seed);
  const auto below = [&](std::size_t limit) {
    return static_cast<std::uint32_t>(random() % limit);
  };
  // By the seed: mostly nested, mostly first in first out, or any.
  const std::uint32_t disorder = seed % 4;
  std::vector<Mark> marks;
  std::vector<Mark> opened;
  std::uint32_t last_id = 0;
  for (std::uint64_t time = 1; time <= 120; ++time) {
    if (opened.empty() || below(2) == 0) {
      marks.push_back({open, time, ++last_id, 1, below(2), 7 + below(2)});
      opened.push_back(marks.back());
      continue;
    }
    const std::size_t which = disorder == 0              ? opened.size() - 1
                              : disorder == 1            ? 0
                              : below(4 * disorder) != 0 ? opened.size() - 1
                                                         : below(opened.size());
    const Mark& start = opened[which];
    const std::uint32_t thread = below(20) == 0 ? below(9) : start.thread;  // 0: unknown
    marks.push_back({closed, time, start.id, 0, 0, thread});
    opened.erase(opened.begin() + static_cast<std::ptrdiff_t>(which));
  }
  CHECK(nvtx_ranges(marks) == plain_nvtx_ranges(marks));
}

TEST_CASE("of ranges that are open at a time, those beyond the limit have no end") {
  constexpr std::uint32_t beyond = 3;
  constexpr std::uint32_t count = wire::max_open_ranges + beyond;
  std::vector<Mark> marks;
  // First in, first out: each end has all the others to cross.
  for (std::uint32_t i = 1; i <= count; ++i) marks.push_back({open, i, i, 1});
  for (std::uint32_t i = 1; i <= count; ++i) marks.push_back({closed, count + i, i});
  CHECK(nvtx_ranges(marks, nullptr, 0,
                    "count(*), count(stop), min(stop - start), max(stop - start)") ==
        std::to_string(count) + "|" + std::to_string(count - beyond) + "|" + std::to_string(count) +
            "|" + std::to_string(count));
}

TEST_CASE("an id may be given again after its range was closed") {
  CHECK(nvtx_ranges({{open, 10, 1, 1}, {closed, 20, 1}, {open, 30, 1, 2}, {closed, 40, 1}}) ==
        "1|10|20|0|-|push_pop 1|30|40|0|-|push_pop");
}

TEST_CASE("ranges have the payload, colour and category of their marker data") {
  wire::Encoder data;
  const auto add = [&](std::uint32_t id, std::uint32_t color, std::int64_t whole, double real) {
    data.integer(std::uint32_t{color ? 2u : 1u})  // an ARGB color, or none
        .integer(id)
        .integer(color)
        .integer(std::uint32_t{3})
        .integer(whole)
        .integer(real);
  };
  add(1, 0xff00ff00, 42, std::numeric_limits<double>::quiet_NaN());
  add(2, 0, INT64_MIN, 0.5);
  CHECK(nvtx_ranges({{open, 10, 1, 1}, {open, 20, 2, 2}, {open, 30, 3, 2}}, &data, 2,
                    "id, payloadInt, payloadDouble, color, category") ==
        "1|42|-|4278255360|3 2|-|0.5|-|3 3|-|-|-|-");
}
