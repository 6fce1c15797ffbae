// What a report has of the timeline finds room, and all records are there when they do.
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/view/page/levels.hpp"
#include "libprof/view/page/packed.hpp"

using namespace gpuprof;

namespace {

// Records that do not overlap, of 5 names.
view::Model model_of(std::size_t records) {
  std::mt19937_64 random(3);
  view::Model model;
  for (int i = 0; i < 5; ++i)
    model.names.push_back({.text = "name", .label = "name", .function = {}});
  view::RecordColumns columns;
  std::int64_t time = model.begin = 1'000'000;
  for (std::size_t i = 0; i < records; ++i) {
    const auto end = time + 1 + static_cast<std::int64_t>(random() % 100'000);
    columns.add(
        {time, end, static_cast<std::int64_t>(i), static_cast<std::uint32_t>(random() % 4), 0});
    time = end + static_cast<std::int64_t>(random() % 100'000);
  }
  model.end = time;
  model.records = static_cast<std::int64_t>(records);
  model.tracks.resize(1);
  std::vector<view::RecordColumns> tables;
  tables.push_back(std::move(columns));
  view::make_rows(std::move(tables), model.tracks[0]);
  return model;
}

std::size_t bytes_of(const view::Levels& levels) {
  std::size_t bytes = 0;
  for (const view::Level& level : levels.all) bytes += level.text.size();
  return bytes;
}

}  // namespace

TEST_CASE("packed text is counted beyond the most that is kept") {
  std::mt19937_64 random(1);
  std::string noise;
  for (int i = 0; i < 100'000; ++i) noise += static_cast<char>(random());
  const std::string all = view::packed(noise);
  CHECK(all.size() % 4 == 0);
  CHECK(all.size() > noise.size() * 4 / 3);
  for (const std::size_t most : {all.size() - 1, all.size()}) {
    view::Packed packed(most);
    for (std::size_t at = 0; at < noise.size(); at += 997) packed.add(noise.substr(at, 997));
    packed.finish();
    CHECK(packed.fits() == (most == all.size()));
    CHECK(packed.size() == all.size());
    CHECK(packed.take() == (most == all.size() ? all : std::string()));
  }
}

TEST_CASE("a report has all records where they find room") {
  const view::Model model = model_of(10'000);
  const view::Levels levels = view::draw_levels(model, window_of(model), {}, 300, 200'000);
  REQUIRE(levels.all.size() == 1);
  CHECK(levels.all[0].width == 0);
  CHECK(levels.names == std::vector{true, true, true, true, false});
  CHECK(bytes_of(view::draw_all(model, window_of(model), 300, 200'000)) == bytes_of(levels));
}

TEST_CASE("of more records a report has the whole run, and the longest gaps and steps in full") {
  const view::Model model = model_of(10'000);
  view::Stops stops;
  const auto add = [](auto& all, std::int64_t begin, std::int64_t time) {
    auto& stop = all.emplace_back();
    stop.begin = begin;
    stop.time = time;
  };
  add(stops.gaps, 20'000'000, 1'000'000);
  add(stops.gaps, 20'100'000, 100);
  add(stops.steps, 90'000'000, 2'000'000);
  add(stops.steps, 0, 900'000'000);
  const view::Levels levels = view::draw_levels(model, window_of(model), stops, 300, 20'000);
  CHECK(bytes_of(levels) <= 20'000);
  CHECK(levels.without_room == 1);
  // The second gap is next to the first.
  REQUIRE(levels.all.size() == 3);
  CHECK(levels.all[0].from == model.begin);
  CHECK(levels.all[0].to == model.end);
  CHECK(levels.all[0].width >= 256);
  for (const std::size_t i : {1U, 2U}) CHECK(levels.all[i].width == 0);
  CHECK(levels.all[1].from <= 20'000'000 - 300'000);
  CHECK(levels.all[1].to >= 21'000'000 + 300'000);
  CHECK(levels.all[2].from <= 90'000'000 - 600'000);
}

TEST_CASE("all records are refused where they find no room, and it is said how large they are") {
  const view::Model model = model_of(10'000);
  try {
    view::draw_all(model, window_of(model), 300, 20'000);
    FAIL("it found room");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("would have 1 MB") != std::string::npos);
  }
}
