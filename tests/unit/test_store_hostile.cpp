// Forged streams: nothing crashes, nothing grows without bound, what came before is in the
// database, and what was wrong is counted.
#include <sys/resource.h>

#include <catch2/catch.hpp>

#include "libprof/base/error.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/limits.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/loader_checks.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using test::bare_loader;
using test::BatchBuilder;
using test::check_sound;
using test::count;
using test::malformed;
using test::sanitized;

namespace {

// Loads frames in front of which hello came; gives the number of malformed ones.
std::int64_t malformed_in(std::vector<wire::Frame> frames) {
  store::Loader loader = bare_loader();
  loader.load(test::hello(1, 100));
  for (const wire::Frame& frame : frames) loader.load(frame);
  // What comes behind is loaded all the same.
  wire::Encoder calls;
  test::add_call(calls, 1, 2, 100, 7, 1);
  loader.load(test::table(1, test::tables::runtime));
  loader.load(BatchBuilder().rows(5, 1, calls).frame(1));
  loader.commit();
  CHECK(count(loader, "CUPTI_ACTIVITY_KIND_RUNTIME") == 1);
  check_sound(loader);
  return malformed(loader);
}

long peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

wire::WireTable with_name(std::string name) {
  wire::WireTable table = test::tables::kernel;
  table.name = std::move(name);
  return table;
}

// A table of one column, with the id 10.
wire::WireTable one_column(std::string name) {
  return {10, std::move(name), "", {test::column("a", schema::Type::u32)}};
}

wire::WireTable with_columns(std::vector<wire::WireColumn> columns) {
  return {10, "SOMETHING", "", std::move(columns)};
}

}  // namespace

TEST_CASE("frames of unknown types and of the other direction are passed over") {
  std::vector<wire::Frame> frames;
  const auto bytes = std::as_bytes(std::span("payload", 7));
  for (const std::uint32_t type : {2, 3, 4, 14, 99, 0xffff}) {
    frames.push_back(wire::make_frame(static_cast<wire::FrameType>(type), 1, bytes));
  }
  CHECK(malformed_in(std::move(frames)) == 0);
}

TEST_CASE("payloads that are none are counted, each") {
  std::vector<wire::Frame> frames;
  const auto bytes = std::as_bytes(std::span("\xff\xff\xff\xff\xff\xff", 6));
  for (const std::uint32_t type : {1, 5, 6, 7, 8, 9, 10, 12}) {
    frames.push_back(wire::make_frame(static_cast<wire::FrameType>(type), 1, bytes));
    frames.push_back(wire::make_frame(static_cast<wire::FrameType>(type), 1, {}));
  }
  CHECK(malformed_in(std::move(frames)) == 16);
}

TEST_CASE("forged table definitions are refused") {
  using schema::Role;
  using schema::Type;
  const std::vector<std::pair<const char*, wire::WireTable>> forged{
      {"no columns", with_columns({})},
      {"a width that is not the type's",
       with_columns({test::column("a", Type::u32, Role::plain, 8)})},
      {"no such type", with_columns({{"a", static_cast<Type>(77), Role::plain, 4, true, ""}})},
      {"type 0", with_columns({{"a", static_cast<Type>(0), Role::plain, 0, true, ""}})},
      {"no width at all", with_columns({{"a", Type::blob, Role::plain, 0, true, ""}})},
      {"no column name", with_columns({test::column("", Type::u32)})},
      {"two columns of a name",
       with_columns({test::column("a", Type::u32), test::column("a", Type::u32)})},
      {"of a name but for case",
       with_columns({test::column("a", Type::u32), test::column("A", Type::u32)})},
      {"the row's own number", with_columns({test::column("_id_", Type::u32)})},
      {"a quote in a column", with_columns({test::column("it's", Type::u32)})},
      {"a double quote in a column", with_columns({test::column("a\"b", Type::u32)})},
      {"SQL for a column", with_columns({test::column("a); DROP TABLE RUN; --", Type::u32)})},
      {"a zero in a column", with_columns({test::column(std::string_view("a\0b", 3), Type::u32)})},
      {"no name", with_name("")},
      {"a zero in the name", with_name(std::string("a\0b", 3))},
      {"a name of SQLite's", with_name("sqlite_master")},
      {"SQL for a name", with_name("a\"; DROP TABLE RUN; --")},
      {"an endless name", with_name(std::string(1 << 20, 'n'))},
      {"id of strings", {wire::string_block, "T", "", {test::column("a", Type::u32)}}},
      {"id of bytes", {wire::bytes_block, "T", "", {test::column("a", Type::u32)}}},
  };
  for (const auto& [what, table] : forged) {
    INFO(what);
    std::vector<wire::Frame> frames;
    frames.push_back(test::table(1, table));
    // And its rows are then rows of a table nobody defined.
    wire::Encoder rows;
    rows.integer(std::uint64_t{1});
    frames.push_back(BatchBuilder().rows(10, 1, rows).frame(1));
    CHECK(malformed_in(std::move(frames)) == 2);
  }
}

TEST_CASE("more columns than a table can have are refused") {
  std::vector<wire::WireColumn> columns;
  for (int i = 0; i < 5000; ++i) {
    columns.push_back(test::column("c" + std::to_string(i), schema::Type::u8));
  }
  std::vector<wire::Frame> frames;
  frames.push_back(test::table(1, with_columns(columns)));
  wire::Encoder rows;
  for (int i = 0; i < 5000; ++i) rows.integer(std::uint8_t{1});
  frames.push_back(BatchBuilder().rows(10, 1, rows).frame(1));
  CHECK(malformed_in(std::move(frames)) == 2);
}

TEST_CASE("rows for tables of our own, views and the like are refused") {
  for (const char* name : {"StringTable", "NVTX_RANGE", "RUN", "PROCESS", "STATISTIC", "Version",
                           "kernels", "stringtable", "nvtx_range", "KERNELS",
                           // indexes, and where one will be
                           "METRIC_RANGE_BY_CORRELATION", "metric_range_by_Correlation",
                           "INDEX_CUPTI_ACTIVITY_KIND_MEMCPY", "index_of_mine",
                           // what SQLite knows by itself
                           "sqlite_stat1", "SQLITE_STAT1", "pragma_table_info", "PRAGMA_foo",
                           "json_each", "packed_rows", "COLLlibrary"}) {
    INFO(name);
    std::vector<wire::Frame> frames;
    frames.push_back(test::table(1, with_name(name)));
    wire::Encoder rows;
    test::add_kernel(rows, 1, 2, 3, 0);
    frames.push_back(BatchBuilder().rows(10, 1, rows).frame(1));
    CHECK(malformed_in(std::move(frames)) >= 1);
  }
}

TEST_CASE("another spelling of a table or column is the same one") {
  wire::WireTable table = with_name("cupti_activity_kind_concurrent_KERNEL");
  table.columns[1].name = "START";
  store::Loader loader = bare_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, table));
  wire::Encoder rows;
  test::add_kernel(rows, 11, 22, 3, 0);
  loader.load(BatchBuilder().rows(10, 1, rows).frame(1));
  loader.commit();
  CHECK(malformed(loader) == 0);
  CHECK(loader.database().integer("SELECT start FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == 11);
}

TEST_CASE("batches that lie about their insides are counted") {
  wire::Encoder row;
  test::add_kernel(row, 1, 2, 3, 0);
  wire::Encoder little;
  little.integer(std::uint8_t{1});
  const auto count_of = [&](wire::Frame frame) {
    std::vector<wire::Frame> frames;
    frames.push_back(test::table(1, test::tables::kernel));
    frames.push_back(std::move(frame));
    return malformed_in(std::move(frames));
  };
  CHECK(count_of(BatchBuilder().rows(10, 1, row).frame(1)) == 0);
  CHECK(count_of(BatchBuilder().rows(11, 1, row).frame(1)) == 1);  // nobody defined it
  CHECK(count_of(BatchBuilder().rows(10, 2, row).frame(1)) == 1);  // more rows than bytes
  CHECK(count_of(BatchBuilder().rows(10, 0, row).frame(1)) == 1);
  CHECK(count_of(BatchBuilder().rows(10, 0xffffffff, row).frame(1)) == 1);
  CHECK(count_of(BatchBuilder().rows(10, 1, little).frame(1)) == 1);
  CHECK(count_of(BatchBuilder().rows(10, 0, wire::Encoder()).frame(1)) == 0);
  CHECK(count_of(BatchBuilder().rows_of_length(10, 1, UINT64_MAX, row).frame(1)) == 1);
  CHECK(count_of(BatchBuilder().rows_of_length(10, 1, 1 << 20, row).frame(1)) == 1);
  CHECK(count_of(BatchBuilder().rows(10, 1, row).frame_with_blocks(1, 2)) == 1);
  CHECK(count_of(BatchBuilder().rows(10, 1, row).frame_with_blocks(1, 0xffffffff)) == 1);
}

TEST_CASE("string blocks that lie are counted, and what they name is NULL") {
  const auto count_of = [&](wire::Frame frame) {
    std::vector<wire::Frame> frames;
    frames.push_back(std::move(frame));
    return malformed_in(std::move(frames));
  };
  wire::Encoder long_text, many;
  long_text.integer(std::uint32_t{1}).integer(std::uint32_t{0xffffffff}).integer(std::uint8_t{'x'});
  many.integer(std::uint32_t{1}).text("x");
  for (const std::uint32_t block : {wire::string_block, wire::bytes_block}) {
    CHECK(count_of(BatchBuilder().rows(block, 1, long_text).frame(1)) == 1);
    CHECK(count_of(BatchBuilder().rows(block, 0xffffffff, many).frame(1)) == 1);
    CHECK(count_of(BatchBuilder().strings({{0, "zero"}}, block).frame(1)) == 1);
    CHECK(count_of(BatchBuilder().strings({{0xffffffff, "last"}}, block).frame(1)) == 1);
    CHECK(count_of(BatchBuilder().strings({{wire::max_string_id + 1, "x"}}, block).frame(1)) == 1);
  }
}

TEST_CASE("ids of strings that never came are NULL") {
  store::Loader loader = bare_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(test::table(1, test::tables::module));
  wire::Encoder kernels, modules;
  test::add_kernel(kernels, 1, 2, 3, 2);
  test::add_kernel(kernels, 1, 2, 4, 0xffffffff);
  modules.integer(std::uint32_t{1}).integer(std::uint32_t{0xffffffff});
  loader.load(
      BatchBuilder().strings({{5, "five"}}).rows(10, 2, kernels).rows(27, 1, modules).frame(1));
  loader.commit();
  CHECK(loader.database().integer("SELECT sum(name) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ==
        0);
  CHECK(loader.database().integer("SELECT length(cubin) FROM CUPTI_ACTIVITY_KIND_MODULE") == 0);
}

TEST_CASE("a few forged bytes cannot make the loader large") {
  const long before = peak_kilobytes();
  std::vector<wire::Frame> frames;
  for (const std::uint32_t block : {wire::string_block, wire::bytes_block}) {
    for (std::uint32_t process = 1; process < 5; ++process) {
      for (std::uint32_t id = 1 << 20; id <= wire::max_string_id; id += 1 << 20) {
        frames.push_back(BatchBuilder().strings({{id, "x"}}, block).frame(process));
      }
    }
  }
  CHECK(malformed_in(std::move(frames)) == 0);
  CHECK((sanitized || peak_kilobytes() - before < 100'000));
}

TEST_CASE("rows without an end are not made of a table without a width") {
  const long before = peak_kilobytes();
  std::vector<wire::Frame> frames;
  frames.push_back(test::table(1, with_columns({{"a", schema::Type::blob, {}, 0, true, ""}})));
  frames.push_back(BatchBuilder().rows(10, 0xffffffff, wire::Encoder()).frame(1));
  CHECK(malformed_in(std::move(frames)) >= 1);
  CHECK(peak_kilobytes() - before < 200'000);
}

TEST_CASE("a table may be redefined for later batches") {
  store::Loader loader = bare_loader();
  loader.load(test::hello(1, 100));
  wire::Encoder kernels, calls;
  test::add_kernel(kernels, 1, 2, 3, 0);
  test::add_call(calls, 1, 2, 100, 7, 9);
  loader.load(test::table(1, test::tables::kernel));
  loader.load(BatchBuilder().rows(10, 1, kernels).frame(1));
  wire::WireTable other = test::tables::runtime;
  other.id = 10;
  loader.load(test::table(1, other));
  loader.load(BatchBuilder().rows(10, 1, calls).rows(10, 1, kernels).frame(1));
  loader.commit();
  CHECK(count(loader, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == 1);
  CHECK(count(loader, "CUPTI_ACTIVITY_KIND_RUNTIME") == 1);
  CHECK(malformed(loader) == 1);  // the kernel's row does not fit any more
}

TEST_CASE("frames of a process that never said hello are kept under process 0") {
  store::Loader loader = bare_loader();
  wire::Encoder kernels;
  test::add_kernel(kernels, 1, 2, 3, 0);
  loader.load(test::table(5, test::tables::kernel));
  loader.load(BatchBuilder().rows(10, 1, kernels).frame(5));
  loader.load(wire::make_frame(wire::FrameType::goodbye, 5, {}));
  loader.commit();
  CHECK(loader.database().integer("SELECT processId FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ==
        0);
}

namespace {

// A loader with an honest process, 100 on stream 1, and what it said of others.
struct Honest {
  std::vector<std::string> said;
  store::Loader loader{test::empty_profile(),
                       {.live = false,
                        .indexes = false,
                        .message = [this](std::int64_t process, const std::string& text) {
                          said.push_back(std::to_string(process) + ": " + text);
                        }}};

  Honest() {
    loader.load(test::hello(1, 100));
    loader.load(test::table(1, test::tables::runtime));
    work();
  }
  void work() {
    wire::Encoder calls;
    test::add_call(calls, 1, 2, 100, 7, 1);
    loader.load(BatchBuilder().rows(5, 1, calls).frame(1));
  }
  void check_whole() {
    work();
    loader.finish();
    CHECK(count(loader, "CUPTI_ACTIVITY_KIND_RUNTIME WHERE processId = 100") == 2);
    CHECK(loader.database().integer(
              "SELECT count(*) FROM STATISTIC WHERE processId = 100 AND severity = 'data_loss'") ==
          0);
    check_sound(loader);
  }
  std::int64_t statistic(const char* name) {
    return loader.database()
        .integer("SELECT sum(value) FROM STATISTIC WHERE processId = 200 AND name = '" +
                 std::string(name) + "'")
        .value_or(0);
  }
};

}  // namespace

TEST_CASE("a collector of a later wire version ends its own stream, and no other") {
  Honest run;
  run.loader.load(test::hello(2, 200, wire::version + 1));
  run.loader.load(test::table(2, test::tables::kernel));
  run.loader.load(wire::make_frame(wire::FrameType::goodbye, 2, {}));
  run.loader.load(wire::make_frame(wire::FrameType::stream_end, 2, {}));
  run.check_whole();
  CHECK(run.statistic("stream_refused") == 3);
  CHECK(run.loader.totals().missing == 3);
  CHECK(count(run.loader, "PROCESS") == 2);
  REQUIRE(run.said.size() == 1);
  CHECK_THAT(run.said[0], Catch::Contains("200: ") && Catch::Contains("wire version 2"));
}

TEST_CASE("a table that SQLite does not take ends its own stream, and no other") {
  Honest run;
  // Nothing a stream may be called meets anything that is there; this stands for what was not
  // thought of.
  run.loader.database().execute("CREATE VIEW LATER AS SELECT 1 AS a");
  run.loader.load(test::hello(2, 200));
  run.loader.load(test::table(2, one_column("LATER")));
  wire::Encoder row;
  row.integer(std::uint32_t{1});
  run.loader.load(BatchBuilder().rows(10, 1, row).frame(2));
  run.loader.load(BatchBuilder().rows(10, 1, row).frame(2));
  run.check_whole();
  CHECK(run.statistic("stream_refused") == 2);
  REQUIRE(run.said.size() == 1);
  CHECK_THAT(run.said[0], Catch::Contains("LATER"));
}

TEST_CASE("what cannot be written ends the run") {
  Honest run;
  run.loader.commit();
  run.loader.database().execute("PRAGMA max_page_count = 1");
  wire::Encoder row;
  row.integer(std::uint32_t{1});
  run.loader.load(test::hello(2, 200));
  run.loader.load(test::table(2, one_column("NEW_ONE")));
  CHECK_THROWS_AS(run.loader.load(BatchBuilder().rows(10, 1, row).frame(2)), Error);
}

TEST_CASE("frames of the launcher are not taken from a process's stream") {
  Honest run;
  run.loader.load(test::hello(2, 200));
  wire::Encoder metrics;
  metrics.integer(std::uint32_t{0}).integer(std::uint32_t{0});
  run.loader.load(test::frame_of(wire::FrameType::metrics, 2, metrics));
  run.loader.load(test::fields_frame(wire::FrameType::run, 2, {{"host_name", "forged"}}));
  run.loader.load(test::hello(2, 100));  // once is enough
  // And those of a process are not taken from the run's.
  run.loader.load(test::hello(wire::run_stream, 300));
  run.check_whole();
  CHECK(run.statistic("frames_malformed") == 3);
  CHECK(count(run.loader, "RUN WHERE key = 'host_name'") == 0);
  CHECK(run.loader.totals().processes == 2);
}

TEST_CASE("a stream has a share of tables, columns and statistics, and no more") {
  Honest run;
  run.loader.load(test::hello(2, 200));
  wire::Encoder row;
  row.integer(std::uint32_t{1});
  for (std::uint32_t i = 1; i <= wire::max_new_tables + 10; ++i) {
    wire::WireTable table = one_column("T" + std::to_string(i));
    table.id = i % 7 + 1;
    run.loader.load(test::table(2, table));
    run.loader.load(BatchBuilder().rows(table.id, 1, row).frame(2));
  }
  run.loader.commit();
  CHECK(run.statistic("stream_limited") == 10);
  CHECK(count(run.loader, "sqlite_master WHERE name GLOB 'T[0-9]*'") == wire::max_new_tables);

  std::vector<wire::Statistic> many;
  for (std::uint32_t i = 0; i < wire::max_counted + 5; ++i) {
    many.push_back(test::statistic("k" + std::to_string(i), "n", 1));
  }
  for (int repeat = 0; repeat < 2; ++repeat) {
    wire::Encoder encoder;
    encode(encoder, many);
    run.loader.load(test::frame_of(wire::FrameType::statistics, 2, encoder));
  }
  run.loader.commit();
  CHECK(run.statistic("stream_limited") == 20);
  CHECK(run.statistic("n") == wire::max_counted);

  // Another one has its own share.
  run.loader.load(test::hello(3, 300));
  run.loader.load(test::table(3, one_column("OF_ANOTHER")));
  run.loader.load(BatchBuilder().rows(10, 1, row).frame(3));
  run.loader.commit();
  CHECK(count(run.loader, "OF_ANOTHER") == 1);
  run.check_whole();
}

TEST_CASE("a stream that defines table after table does not make the loader large") {
  const long before = peak_kilobytes();
  Honest run;
  run.loader.load(test::hello(2, 200));
  for (std::uint32_t id = 1; id < 200; ++id) {
    wire::WireTable table = one_column("T");
    table.id = id;
    table.doc = std::string(1 << 20, 'd');
    run.loader.load(test::table(2, table));
  }
  run.check_whole();
  CHECK(run.statistic("stream_limited") > 190);
  CHECK((sanitized || peak_kilobytes() - before < 100'000));
}

TEST_CASE("correlation ids that wrap all the time are given up") {
  Honest run;
  run.loader.load(test::hello(2, 200));
  run.loader.load(test::table(2, test::tables::kernel));
  constexpr std::uint32_t kernels = 3 * 5000;
  wire::Encoder packed;
  for (std::uint32_t i = 0; i < kernels; ++i) {
    test::add_kernel(packed, 1, 2, 1 + i % 3 * 0x55555555, 0);
  }
  run.loader.load(BatchBuilder().rows(10, kernels, packed).frame(2));
  run.check_whole();
  CHECK(run.statistic("stream_limited") > 0);
  CHECK(count(run.loader, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == kernels);
  CHECK(run.loader.database().integer(
            "SELECT max(correlationId >> 32) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") < 5000);
}

TEST_CASE("of a process that has ended little is kept") {
  Honest run;
  const long before = peak_kilobytes();
  for (std::uint32_t stream = 2; stream < 2000; ++stream) {
    run.loader.load(test::hello(stream, stream));
    run.loader.load(test::table(stream, test::tables::kernel));
    const std::string text = "message " + std::to_string(stream);
    run.loader.load(BatchBuilder().strings({{1, text}, {wire::max_string_id, text}}).frame(stream));
    run.loader.load(wire::make_frame(wire::FrameType::stream_end, stream, {}));
  }
  run.check_whole();
  // One that stays takes 0.5 MB.
  CHECK((sanitized || peak_kilobytes() - before < 50'000));
}
