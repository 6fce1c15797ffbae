// ctest-cost: 20
// A timeline that is stored in the file is what the viewer would read out of all records.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/timeline/blocks.hpp"
#include "libprof/compute/timeline/store_timeline.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/model/model.hpp"
#include "libprof/view/model/name_search.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof;
using store::Database;
using timeline::Item;
using timeline::StoredTimeline;

namespace {

void store_it(const std::string& path, StoredTimeline wanted = StoredTimeline::always) {
  Database database(path, Database::Mode::read_write);
  REQUIRE(timeline::store_timeline(database, wanted, [] {}));
}

view::Model read(Database& database) {
  return view::read_model(database, [](std::string_view) {});
}

view::Model read(const std::string& path) {
  Database database(path, Database::Mode::read_only);
  return read(database);
}

// With names as texts: models number them differently.
std::vector<std::string> pieces_of(const view::Model& model, const view::Track& track,
                                   std::int64_t from, std::int64_t to, std::uint32_t width) {
  std::vector<std::string> result;
  for (const auto& row : view::make_tile(track, from, to, width).rows) {
    std::string& text = result.emplace_back();
    for (const view::Piece& piece : row) {
      for (const std::uint64_t number :
           {std::uint64_t{piece.x}, std::uint64_t{piece.x_end}, std::uint64_t{piece.first},
            std::uint64_t{piece.count}, piece.busy, piece.longest,
            std::uint64_t{piece.longest_place}}) {
        text += std::to_string(number) + " ";
      }
      text += model.names[piece.longest_name].label + ";";
    }
  }
  return result;
}

bool same_item(const view::Model& a, const Item& one, const view::Model& b, const Item& other) {
  return one.begin == other.begin && one.end == other.end && one.id == other.id &&
         a.names[one.name].text == b.names[other.name].text &&
         a.tables[one.table] == b.tables[other.table];
}

std::vector<std::string> work_of(const view::Model& model, std::int64_t from, std::int64_t to) {
  std::vector<std::string> lines;
  const view::Statistics all = view::statistics(model, from, to);
  for (const auto& work : all.work) {
    lines.push_back(std::string(timeline::name_of(work.kind)) + " " + model.names[work.name].text +
                    " " + std::to_string(work.count) + " " + std::to_string(work.time) + " " +
                    std::to_string(work.longest));
  }
  std::ranges::sort(lines);
  for (const auto& device : all.devices) {
    lines.push_back(device.name + " " + std::to_string(device.records) + " " +
                    std::to_string(device.busy) + " " + std::to_string(device.compute) + " " +
                    std::to_string(device.copies) + " " + std::to_string(device.both) + " " +
                    std::to_string(device.work.from) + " " + std::to_string(device.work.to));
  }
  return lines;
}

// Windows of all sizes, from some ns to more than the run.
struct Window {
  std::int64_t from, to;
};
Window random_window(const view::Model& model, std::mt19937_64& random) {
  const auto span = static_cast<std::uint64_t>(model.end - model.begin) + 2;
  const auto from = model.begin - 1 + static_cast<std::int64_t>(random() % span);
  const auto longest = std::max<std::uint64_t>(span >> random() % 20, 2);
  return {from, from + 1 + static_cast<std::int64_t>(random() % longest)};
}

void check_equal(const view::Model& read, const view::Model& stored, unsigned seed) {
  std::mt19937_64 random(seed);
  CHECK(stored.whole.has_value());
  CHECK_FALSE(read.whole.has_value());
  REQUIRE(read.tracks.size() == stored.tracks.size());
  CHECK(read.begin == stored.begin);
  CHECK(read.end == stored.end);
  CHECK(read.records == stored.records);
  CHECK(read.without_times == stored.without_times);
  CHECK(read.losses == stored.losses);
  for (std::size_t t = 0; t < read.tracks.size(); ++t) {
    const view::Track &one = read.tracks[t], &other = stored.tracks[t];
    CAPTURE(one.path);
    CHECK(one.path == other.path);
    CHECK(one.kind == other.kind);
    CHECK(one.device == other.device);
    CHECK(one.records == other.records);
    CHECK(one.left_out == other.left_out);
    REQUIRE(one.rows.size() == other.rows.size());
    for (std::size_t r = 0; r < one.rows.size(); ++r) {
      const view::TrackRow &its = *one.rows[r], &same = *other.rows[r];
      REQUIRE(its.size() == same.size());
      bool good = true;
      for (std::size_t i = 0; i < its.size(); ++i) {
        good = good && same_item(read, its[i], stored, same[i]);
      }
      // In any order.
      for (int i = 0; i < 100; ++i) {
        const std::size_t place = random() % its.size();
        good = good && its.begin(place) == same.begin(place) && its.end(place) == same.end(place) &&
               read.names[its.name(place)].text == stored.names[same.name(place)].text;
      }
      CHECK(good);
    }
    for (int i = 0; i < 60; ++i) {
      const auto [from, to] = random_window(read, random);
      const auto width = static_cast<std::uint32_t>(1 + random() % 2'000);
      CAPTURE(from, to, width);
      REQUIRE(pieces_of(read, one, from, to, width) == pieces_of(stored, other, from, to, width));
    }
  }
  CHECK(work_of(read, read.begin - 5, read.end + 5) ==
        work_of(stored, read.begin - 5, read.end + 5));
  for (int i = 0; i < 10; ++i) {
    const auto [from, to] = random_window(read, random);
    CHECK(work_of(read, from, to) == work_of(stored, from, to));
  }
  for (const std::string text : {"a", "cuda", "kernel", "no such name"}) {
    const auto [after, ignored] = random_window(read, random);
    const view::Found one = view::search(read, text, after);
    const view::Found other = view::search(stored, text, after);
    CHECK(one.count == other.count);
    CHECK(one.around == other.around);
    REQUIRE(one.next.has_value() == other.next.has_value());
    if (!one.next) continue;
    CHECK(same_item(read, *view::item_at(read, *one.next), stored,
                    *view::item_at(stored, *other.next)));
    CHECK(one.names.size() == other.names.size());
    const auto back = [&](const view::Model& model) {
      return view::search(model, view::names_with(model.names, text), after, true);
    };
    const view::Found earlier = back(read), other_earlier = back(stored);
    CHECK(earlier.around == other_earlier.around);
    REQUIRE(earlier.next.has_value());
    REQUIRE(other_earlier.next.has_value());
    CHECK(view::item_at(read, *earlier.next)->begin ==
          view::item_at(stored, *other_earlier.next)->begin);
  }
}

// Streams with work that overlaps, calls of threads, some of no time, many at one time, and ranges
// that were never closed.
void make_long_profile(const std::string& path, std::size_t count) {
  Database database(path, Database::Mode::create);
  store::make_empty_profile(database, false);
  std::mt19937_64 random(5);
  const auto below = [&](std::uint64_t most) { return static_cast<std::int64_t>(random() % most); };
  database.execute("BEGIN");
  for (int i = 1; i < 40; ++i) {
    database.execute("INSERT INTO StringTable(_id_, value) VALUES(" + std::to_string(i) +
                     ", 'kernel " + std::to_string(i) + "')");
  }
  auto kernel = database.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, deviceId, contextId, "
      "streamId, correlationId, name, processId) VALUES(?1, ?2, ?3, 1, ?4, ?5, ?6, 7)");
  auto copy = database.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, bytes, start, end, deviceId, contextId, "
      "streamId, correlationId, processId) VALUES(1, 8, ?1, ?2, 0, 1, ?3, ?4, 7)");
  auto call = database.prepare(
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, processId, threadId, "
      "correlationId) VALUES(?1, ?2, ?3, 7, ?4, ?5)");
  auto range = database.prepare(
      "INSERT INTO NVTX_RANGE(_id_, processId, threadId, domain, start, stop, name) "
      "VALUES(?1, 7, ?2, 0, ?3, ?4, ?5)");
  std::int64_t time = 1'000'000'000'000;
  for (std::size_t i = 0; i < count; ++i) {
    time += below(3) == 0 ? 0 : below(2'000) == 0 ? below(100'000'000) : below(400);
    const auto id = static_cast<std::int64_t>(i) + 1;
    const std::int64_t start = time + below(3'000);
    // One in a thousand has no times, and one takes none.
    const std::int64_t end =
        below(1'000) == 0 ? start : start + below(below(100) == 0 ? 90'000 : 900);
    switch (below(5)) {
      case 0: copy.bind(1, start).bind(2, end).bind(3, below(3)).bind(4, id).run(); break;
      case 1:
      case 2:
        kernel.bind(1, below(1'000) == 0 ? 0 : start).bind(2, end).bind(3, below(2));
        kernel.bind(4, below(3)).bind(5, id).bind(6, 1 + below(39)).run();
        break;
      case 3:
        range.bind(1, id).bind(2, below(2)).bind(3, time).bind(5, below(40));
        below(5'000) == 0 ? range.bind_null(4) : range.bind(4, time + below(200));
        range.run();
        break;
      default:
        call.bind(1, 200 + below(20)).bind(2, time).bind(3, time + below(300));
        call.bind(4, below(3)).bind(5, id).run();
    }
  }
  database.execute("COMMIT");
  REQUIRE(compute::compute(database, {}).empty());
}

}  // namespace

TEST_CASE("tracks: blocks give back what was put into them") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto size = [&] { return static_cast<std::int64_t>(random() >> (8 + random() % 56)); };
    std::vector<Item> items;
    std::int64_t time = 1 + size() % 1'000'000'000'000;
    for (std::size_t i = 0; i < 1'500; ++i) {
      const std::int64_t begin = time + size() % 100'000'000, end = begin + size() % 100'000'000;
      const auto id = static_cast<std::int64_t>(random() >> random() % 64);
      items.push_back({begin, end, id, static_cast<std::uint32_t>(random() >> (32 + random() % 32)),
                       static_cast<std::uint8_t>(random() % 4)});
      time = end;
    }
    timeline::BlockBuilder builder;
    std::vector<std::byte> index, bytes;
    std::vector<std::vector<std::byte>> blocks;
    const auto finish = [&] {
      append(builder.finish(bytes), index);
      CHECK(bytes.size() <= 4040);
      bytes.resize(bytes.size() + timeline::Block::padding);
      blocks.push_back(bytes);
    };
    for (const Item& item : items) {
      if (builder.add(item)) continue;
      finish();
      REQUIRE(builder.add(item));
    }
    finish();
    const auto infos = timeline::read_index(index);
    REQUIRE(infos.has_value());
    REQUIRE(infos->size() == blocks.size());
    std::size_t at = 0;
    bool good = true;
    for (std::size_t b = 0; b < blocks.size(); ++b) {
      const timeline::BlockInfo& info = (*infos)[b];
      const auto used = std::span(blocks[b]).first(blocks[b].size() - timeline::Block::padding);
      const auto block = timeline::Block::read(used, info);
      REQUIRE(block.has_value());
      std::vector<std::int64_t> begin, end;
      REQUIRE(block->times(info, begin, end));
      std::uint64_t longest = 0, busy = 0;
      for (std::size_t i = 0; i < block->size(); ++i, ++at) {
        const Item& item = items[at];
        good = good && begin[i] == item.begin && end[i] == item.end && block->id(i) == item.id &&
               block->name(i) == item.name && block->table(i) == item.table;
        longest = std::max(longest, static_cast<std::uint64_t>(item.end - item.begin));
        busy += static_cast<std::uint64_t>(item.end - item.begin);
      }
      good = good && info.longest == longest && info.busy == busy;
    }
    CHECK(good);
    CHECK(at == items.size());
  }
}

TEST_CASE("tracks: a stored timeline of each capture is what is read of its records") {
  const TemporaryFolder folder;
  unsigned files = 0;
  for (const char* place :
       {GPUPROF_SOURCE_DIR "/tests/captures", GPUPROF_BUILD_DIR "/tests/captures"}) {
    for (const auto& entry : std::filesystem::directory_iterator(place)) {
      if (entry.path().extension() != ".gpcap") continue;
      const std::string path = folder / (entry.path().stem().string() + ".sqlite");
      if (std::filesystem::exists(path)) continue;
      CAPTURE(path);
      replay(entry.path(), path);
      const view::Model all = read(path);
      store_it(path);
      Database database(path, Database::Mode::read_only);
      check_equal(all, read(database), ++files);
    }
  }
  CHECK(files >= 5);
}

TEST_CASE("tracks: a stored timeline of many records is what is read of them") {
  const TemporaryFolder folder;
  const std::string path = folder / "long.sqlite";
  make_long_profile(path, 60'000);
  const view::Model all = read(path);
  REQUIRE(all.tracks.size() > 8);
  CHECK(all.without_times > 0);
  store_it(path);
  Database database(path, Database::Mode::read_only);
  CHECK(database.integer("SELECT count(*) FROM TIMELINE_BLOCK").value_or(0) > 100);
  CHECK(database.text("PRAGMA integrity_check") == "ok");
  const view::Model stored = read(database);
  check_equal(all, stored, 1);
  // The same again where blocks are kept in memory first.
  const std::string small = folder / "small.sqlite";
  make_long_profile(small, 60'000);
  Database(small, Database::Mode::read_write).rebuild(512);
  store_it(small);
  Database other(small, Database::Mode::read_only);
  check_equal(all, read(other), 2);
}

TEST_CASE(
    "tracks: a timeline of another state of the file is not used, and none is kept below "
    "its size unless it is asked for") {
  const TemporaryFolder folder;
  const std::string path = folder / "file.sqlite";
  make_long_profile(path, 500);
  CHECK_FALSE(read(path).whole.has_value());
  store_it(path);
  CHECK(read(path).whole.has_value());
  Database(path, Database::Mode::read_write)
      .execute(
          "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, processId, threadId, "
          "correlationId) VALUES(211, 5, 6, 7, 1, 1)");
  const view::Model changed = read(path);
  CHECK_FALSE(changed.whole.has_value());
  CHECK(changed.begin == 5);
  store_it(path);
  CHECK(read(path).begin == 5);
  CHECK(read(path).whole.has_value());
  store_it(path, StoredTimeline::automatic);
  CHECK_FALSE(read(path).whole.has_value());
  store_it(path);
  store_it(path, StoredTimeline::never);
  CHECK_FALSE(read(path).whole.has_value());
}

namespace {

// SQLite parses their definitions whenever a file is opened.
void drop_empty_tables(Database& database) {
  std::vector<std::string> names;
  auto tables = database.prepare(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'");
  while (tables.step()) names.emplace_back(tables.text(0));
  tables.reset();
  database.execute("BEGIN");
  for (const std::string& name : names) {
    if (database.integer("SELECT count(*) FROM " + name) == 0) {
      database.execute("DROP TABLE " + name);
    }
  }
  database.execute("COMMIT");
}

}  // namespace

TEST_CASE("tracks: what is wrong with a stored timeline ends in words") {
  const TemporaryFolder folder;
  const std::string good = folder / "good.sqlite", path = folder / "bad.sqlite";
  make_long_profile(good, 1'500);
  {
    Database database(good, Database::Mode::read_write);
    test::drop_views(database);
    drop_empty_tables(database);
  }
  store_it(good);
  std::mt19937_64 random(9);
  int refused = 0, used = 0;
  for (int round = 0; round < 300; ++round) {
    std::filesystem::copy_file(good, path, std::filesystem::copy_options::overwrite_existing);
    {
      Database database(path, Database::Mode::read_write);
      const bool index = round % 2 == 0;
      const std::string table = index ? "TIMELINE_ROW" : "TIMELINE_BLOCK";
      const std::string column = index ? "blocks" : "records";
      const std::int64_t rows = database.integer("SELECT count(*) FROM " + table).value_or(0);
      REQUIRE(rows > 0);
      auto row = database.prepare("SELECT _id_, " + column + " FROM " + table +
                                  " ORDER BY 1 LIMIT 1 OFFSET ?1");
      row.bind(1, static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows)));
      REQUIRE(row.step());
      const std::int64_t id = row.integer(0);
      std::vector<std::byte> bytes(row.blob(1).begin(), row.blob(1).end());
      row.reset();
      const auto flips = 1 + random() % 8;
      for (std::uint64_t i = 0; i < flips; ++i) {
        bytes[random() % (i % 2 ? bytes.size() : std::min<std::size_t>(bytes.size(), 60))] =
            static_cast<std::byte>(random());
      }
      if (random() % 8 == 0) bytes.resize(random() % bytes.size());
      auto change =
          database.prepare("UPDATE " + table + " SET " + column + " = ?2 WHERE _id_ = ?1");
      change.bind(1, id).bind_blob(2, bytes).run();
    }
    try {
      const view::Model model = read(path);
      for (const view::Track& track : model.tracks) {
        for (int i = 0; i < 5; ++i) {
          const auto [from, to] = random_window(model, random);
          view::make_tile(track, from, to, 700);
        }
      }
      view::statistics(model, model.begin + 1, model.end - 1);
      view::search(model, "kernel", model.begin);
      ++used;
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find("timeline in the file") != std::string::npos);
      ++refused;
    }
  }
  CHECK(refused > 100);
  CHECK(used > 5);
}
