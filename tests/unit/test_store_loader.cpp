#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <csignal>
#include <random>

#include "libprof/base/error.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/store/rescue.hpp"
#include "libprof/store/string_writer.hpp"
#include "libprof/wire/limits.hpp"
#include "schema/tables.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using store::Database;
using test::BatchBuilder;
using test::make_loader;
using test::Mark;
using test::rows;

namespace {

wire::Frame kernels(std::uint32_t stream, const std::vector<std::uint32_t>& correlations,
                    const BatchBuilder::Strings& strings = {}, std::uint32_t name = 0) {
  wire::Encoder packed;
  for (const std::uint32_t id : correlations) test::add_kernel(packed, 1, 2, id, name);
  BatchBuilder batch;
  if (!strings.empty()) batch.strings(strings);
  return batch.rows(10, static_cast<std::uint32_t>(correlations.size()), packed).frame(stream);
}

constexpr const char* correlation_ids =
    "SELECT correlationId >> 32, correlationId & 0xffffffff FROM "
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ORDER BY _id_";

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

TEST_CASE("correlation ids get the process's number, and 0 stays 0") {
  store::Loader loader = make_loader();
  for (const std::uint32_t stream : {1, 2}) {
    loader.load(test::hello(stream, 100 * stream));
    loader.load(test::table(stream, test::tables::kernel));
    loader.load(kernels(stream, {0, 7, 0}));
  }
  loader.load(kernels(1, {8}));
  loader.commit();
  CHECK(rows(loader.database(), correlation_ids) == "0|0 0|7 0|0 0|0 1|7 0|0 0|8");
  CHECK(rows(loader.database(), "SELECT processId, number FROM PROCESS") == "100|0 200|1");
  CHECK(rows(loader.database(),
             "SELECT processId, count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL GROUP BY 1") ==
        "100|4 200|3");
  CHECK(loader.totals().records == 7);
  CHECK(loader.totals().processes == 2);
}

TEST_CASE("a wrap of CUPTI's counter takes a new number, in whatever order rows come") {
  store::Loader loader = make_loader();
  for (const std::uint32_t stream : {1, 2}) {
    loader.load(test::hello(stream, 100 * stream));
    loader.load(test::table(stream, test::tables::kernel));
  }
  loader.load(kernels(1, {0x70000000, 0xe0000000, 0xfffffffe}));
  loader.load(kernels(1, {3, 0xffffffff, 5, 0, 0xfffffff0}));
  loader.load(kernels(2, {9}));
  loader.load(kernels(1, {6, 0x7fffffff, 0xf0000000, 2}));
  loader.commit();
  CHECK(rows(loader.database(), correlation_ids) ==
        "0|1879048192 0|3758096384 0|4294967294 "
        "2|3 0|4294967295 2|5 0|0 0|4294967280 "
        "1|9 "
        "2|6 2|2147483647 2|4026531840 3|2");
}

TEST_CASE("a first correlation id beyond the half is no wrap") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {0x90000000, 0x90000001}));
  loader.commit();
  CHECK(rows(loader.database(), correlation_ids) == "0|2415919104 0|2415919105");
}

TEST_CASE("names that the user gives are strings as any other") {
  const auto named = [](const char* text) {
    return
        [text](std::int64_t, std::int64_t process_id) { return text + std::to_string(process_id); };
  };
  store::Loader loader =
      make_loader(":memory:", {.object_names = {.process = named("p"), .context = [](auto, auto) {
                                                  return std::string(schema::null_string);
                                                }}});
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {1}, {{1, "p100"}}, 1));
  loader.commit();
  loader.database().execute(
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONTEXT(processId, deviceId, contextId, nullStreamId) "
      "VALUES(100, 0, 1, 7)");
  loader.finish();
  // The row for NULL is nobody's, whatever its text.
  CHECK(rows(loader.database(), "SELECT _id_, value FROM StringTable ORDER BY _id_") ==
        "0|-- null -- 1|p100 2|-- null --");
  CHECK(rows(loader.database(),
             "SELECT objectKind, name, objectDeviceId, objectContextId, objectStreamId, processId "
             "FROM CUPTI_ACTIVITY_KIND_NAME ORDER BY 1") == "1|1|-|-|-|100 4|2|0|1|-|100");
}

TEST_CASE("strings are stored once for all processes, with their readable forms") {
  store::Loader loader = make_loader();
  for (const std::uint32_t stream : {1, 2}) {
    loader.load(test::hello(stream, 100 * stream));
    loader.load(test::table(stream, test::tables::kernel));
  }
  loader.load(kernels(1, {1}, {{1, "plain"}, {2, "_ZN2ns3addEPfi"}}, 2));
  loader.load(kernels(2, {1}, {{1, "_ZN2ns3addEPfi"}, {2, ""}}, 1));
  loader.load(kernels(2, {1}, {}, 2));
  loader.load(kernels(2, {1}, {{1, "another one"}}, 1));  // ids may be given anew
  loader.finish();
  CHECK(rows(loader.database(), "SELECT * FROM StringTable ORDER BY _id_") ==
        "0|-- null --|-|- 1|plain|-|- 2|_ZN2ns3addEPfi|ns::add(float*, int)|add 3||-|- "
        "4|another one|-|-");
  CHECK(rows(loader.database(),
             "SELECT name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ORDER BY _id_") == "2 2 3 4");
}

TEST_CASE("a text that comes again after any number of others has one row") {
  store::Loader loader = make_loader(":memory:", {.string_cache_bytes = 4096});
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  const std::string longer_than_the_cache(5000, 'x');
  const auto load = [&](const std::string& text) { loader.load(kernels(1, {1}, {{1, text}}, 1)); };
  for (int time = 0; time < 2; ++time) {
    load("_Z3addPfi");
    load(longer_than_the_cache);
    for (int i = 0; i < 200; ++i) load("message " + std::to_string(i));
    load("");
  }
  CHECK(loader.database().has_table(store::string_hashes));
  CHECK(std::ranges::none_of(store::read_schema(loader.database()), [](const auto& object) {
    return object.name == store::string_hashes;
  }));
  loader.finish();
  CHECK(rows(loader.database(), "SELECT count(*), count(DISTINCT value) FROM StringTable") ==
        "204|204");
  CHECK(rows(loader.database(),
             "SELECT count(*), count(DISTINCT name), count(DISTINCT value), min(demangled) FROM "
             "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k JOIN StringTable AS s ON s._id_ = name") ==
        "406|203|203|add(float*, int)");
  CHECK_FALSE(loader.database().has_table(store::string_hashes));
}

TEST_CASE("a readable name is put beside its string when it is there") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {1}, {{1, "_Z3addPfi"}}, 1));
  loader.commit();
  // Nothing else comes, and it is written all the same.
  const auto stored = [&] {
    loader.commit();
    return rows(loader.database(), "SELECT demangled, short FROM StringTable WHERE _id_ = 1");
  };
  for (int i = 0; i < 1000 && stored() == "-|-"; ++i) usleep(10'000);
  CHECK(stored() == "add(float*, int)|add");
}

TEST_CASE("nullable values, blobs and bytes") {
  using schema::Role;
  using schema::Type;
  const wire::WireTable table{
      40,
      "VALUES_OF_ALL_TYPES",
      "",
      {test::column("a", Type::i8, Role::nullable), test::column("b", Type::u8, Role::nullable),
       test::column("c", Type::i16), test::column("d", Type::u16), test::column("e", Type::i32),
       test::column("f", Type::u32), test::column("g", Type::i64, Role::nullable),
       test::column("h", Type::u64, Role::nullable), test::column("i", Type::f64),
       test::column("j", Type::bytes), test::column("k", Type::blob, Role::plain, 3)}};
  wire::Encoder packed;
  const auto add = [&](auto... values) { (packed.integer(values), ...); };
  add(std::int8_t{-1}, std::uint8_t{254}, std::int16_t{-2}, std::uint16_t{65535}, std::int32_t{-3},
      std::uint32_t{4294967295}, std::int64_t{-4}, std::uint64_t{1} << 63, 2.5, std::uint32_t{1},
      'x', '\0', 'z');
  add(std::int8_t{-128}, std::uint8_t{255}, std::int16_t{-32768}, std::uint16_t{0}, std::int32_t{0},
      std::uint32_t{0}, INT64_MIN, UINT64_MAX, std::numeric_limits<double>::quiet_NaN(),
      std::uint32_t{2}, '\0', '\0', '\0');
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, table));
  loader.load(BatchBuilder()
                  .bytes({{1, std::string_view("E\0F", 3)}, {2, ""}})
                  .rows(40, 2, packed)
                  .frame(1));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT a, b, c, d, e, f, g, h, i, hex(j), typeof(j), hex(k), processId FROM "
             "VALUES_OF_ALL_TYPES") ==
        "-1|254|-2|65535|-3|4294967295|-4|-9223372036854775808|2.5|450046|blob|78007A|100 "
        "-|-|-32768|0|0|0|-|-|-||blob|000000|100");
}

TEST_CASE("columns that the running CUPTI lacks are NULL") {
  wire::WireTable table = test::tables::kernel;
  table.columns[3].present = false;
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, table));
  loader.load(kernels(1, {5}));
  loader.commit();
  // gridX is not in the stream at all.
  CHECK(rows(loader.database(),
             "SELECT deviceId, start, gridX FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ==
        "-|1|-");
}

TEST_CASE("tables and columns that this build does not know are made") {
  wire::WireTable kernel = test::tables::kernel;
  kernel.columns.push_back(test::column("inventedLater", schema::Type::u32));
  const wire::WireTable later{
      99,
      "CUPTI_ACTIVITY_KIND_LATER",
      "",
      {test::column("end", schema::Type::u64), test::column("processId", schema::Type::u32)}};
  wire::WireTable legacy = test::tables::runtime;
  legacy.id = 98;
  legacy.name = schema::legacy::tables[0].name;
  wire::Encoder kernel_row, later_row, legacy_row;
  test::add_kernel(kernel_row, 1, 2, 3, 0);
  kernel_row.integer(std::uint32_t{77});
  later_row.integer(std::uint64_t{8}).integer(std::uint32_t{9});
  test::add_call(legacy_row, 1, 2, 100, 7, 5);
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, kernel));
  loader.load(test::table(1, later));
  loader.load(test::table(1, legacy));
  loader.load(BatchBuilder()
                  .rows(10, 1, kernel_row)
                  .rows(99, 1, later_row)
                  .rows(98, 1, legacy_row)
                  .frame(1));
  loader.finish();
  CHECK(rows(loader.database(),
             "SELECT inventedLater FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == "77");
  CHECK(rows(loader.database(), "SELECT * FROM CUPTI_ACTIVITY_KIND_LATER") == "1|8|9");
  // One of the view's tables has a column more now.
  CHECK(rows(loader.database(), "SELECT start, process_id FROM kernels") == "1|100");
  CHECK(rows(loader.database(),
             "SELECT threadId FROM " + std::string(schema::legacy::tables[0].name)) == "7");
}

// gpuprof 0.1.0 called these columns end and timestamp.
TEST_CASE("captures of the first collectors keep their times") {
  using schema::Type;
  const wire::WireTable host{90,
                             "CUPTI_ACTIVITY_KIND_HOST_LAUNCH",
                             "",
                             {test::column("start", Type::u64), test::column("end", Type::u64)}};
  const wire::WireTable change{91,
                               "CUPTI_ACTIVITY_KIND_COMPUTE_ENGINE_CTX_SWITCH",
                               "",
                               {test::column("timestamp", Type::u64)}};
  wire::Encoder host_rows, change_row;
  host_rows.integer(std::uint64_t{5}).integer(std::uint64_t{8});
  host_rows.integer(std::uint64_t{0}).integer(std::uint64_t{0});
  change_row.integer(std::uint64_t{7});
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, host));
  loader.load(test::table(1, change));
  loader.load(BatchBuilder().rows(90, 2, host_rows).rows(91, 1, change_row).frame(1));
  loader.finish();
  CHECK(rows(loader.database(), "SELECT start, stop FROM CUPTI_ACTIVITY_KIND_HOST_LAUNCH") ==
        "5|8 0|0");
  CHECK(rows(loader.database(), "SELECT time FROM CUPTI_ACTIVITY_KIND_COMPUTE_ENGINE_CTX_SWITCH") ==
        "7");
  CHECK(rows(loader.database(),
             "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND "
             "(sql LIKE '%HOST_LAUNCH%end INT%' OR sql LIKE '%CTX_SWITCH%timestamp%')") == "0");
  CHECK(rows(loader.database(),
             "SELECT value FROM STATISTIC WHERE name = 'records_without_times'") == "1");
}

TEST_CASE("new tables and columns bring their docs along") {
  wire::WireTable kernel = test::tables::kernel;
  kernel.doc = "not theirs to change";
  kernel.columns.push_back(test::column("inventedLater", schema::Type::u32));
  kernel.columns[1].doc = "not theirs to change";
  const wire::WireTable later{99, "LATER", "what comes", {test::column("x", schema::Type::u64)}};
  wire::Encoder kernel_row, later_row;
  test::add_kernel(kernel_row, 1, 2, 3, 0);
  kernel_row.integer(std::uint32_t{77});
  later_row.integer(std::uint64_t{8});
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, kernel));
  loader.load(test::table(1, later));
  loader.load(BatchBuilder().rows(10, 1, kernel_row).rows(99, 1, later_row).frame(1));
  loader.commit();
  CHECK(rows(loader.database(), R"(SELECT doc FROM TABLE_DOC WHERE "table" = 'LATER')") ==
        "what comes");
  CHECK(
      rows(loader.database(), R"(SELECT "column", doc FROM COLUMN_DOC WHERE "table" = 'LATER')") ==
      "_id_|number of the row, in order of storing "
      "processId|process the row came from: PROCESS.processId x|a doc");
  CHECK(rows(loader.database(), R"(SELECT doc FROM COLUMN_DOC WHERE "column" = 'inventedLater')") ==
        "a doc");
  CHECK(rows(loader.database(), "SELECT * FROM TABLE_DOC WHERE doc LIKE 'not theirs%'").empty());
  CHECK(rows(loader.database(), "SELECT * FROM COLUMN_DOC WHERE doc LIKE 'not theirs%'").empty());
}

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
    const std::uint32_t thread = below(20) == 0 ? below(9) : start.thread;  // 0: not told
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

TEST_CASE("statistics: later values replace, processes are told apart, streams of one add up") {
  const auto statistics = [](std::uint32_t stream, std::uint64_t dropped) {
    wire::Encoder encoder;
    encode(encoder, std::vector<wire::Statistic>{{"", "records_dropped_by_cupti", dropped},
                                                 test::statistic("T", "never_heard_of", 1)});
    return test::frame_of(wire::FrameType::statistics, stream, encoder);
  };
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::hello(2, 200));
  loader.load(test::hello(3, 100));  // the first process has become another program
  loader.load(statistics(1, 4));
  loader.load(statistics(1, 5));
  loader.load(statistics(2, 6));
  loader.load(statistics(3, 10));
  loader.count("spilled_bytes", 12);
  loader.commit();
  loader.load(statistics(2, 7));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT processId, value, severity FROM STATISTIC WHERE name = "
             "'records_dropped_by_cupti' ORDER BY 1") == "100|15|data_loss 200|7|data_loss");
  CHECK(rows(loader.database(),
             "SELECT processId, value FROM STATISTIC WHERE name = "
             "'spilled_bytes'") == "0|12");
  CHECK(rows(loader.database(),
             "SELECT DISTINCT severity FROM STATISTIC WHERE name = "
             "'never_heard_of'") == "notice");
}

TEST_CASE("a commit writes the statistics that changed, and no others") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {1, 2}));
  wire::Encoder encoder;
  encode(encoder, std::vector<wire::Statistic>{{"", "slots_exhausted", 0}});
  loader.load(test::frame_of(wire::FrameType::statistics, 1, encoder));
  loader.commit();
  const std::string all = "SELECT name, value FROM STATISTIC ORDER BY name";
  CHECK(rows(loader.database(), all) == "records_received|2 slots_exhausted|0");
  // What stands there now would be written over by one who writes all.
  loader.database().execute("UPDATE STATISTIC SET value = 1000");
  loader.load(kernels(1, {3}));
  loader.load(test::frame_of(wire::FrameType::statistics, 1, encoder));
  loader.commit();
  CHECK(rows(loader.database(), all) == "records_received|1001 slots_exhausted|1000");
  CHECK(loader.totals().records == 3);
}

TEST_CASE("the end of a stream brings what the launcher counted of it") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  wire::Encoder encoder;
  encode(encoder, std::vector<wire::Statistic>{{"", "frames_malformed", 3}});
  loader.load(test::frame_of(wire::FrameType::stream_end, 1, encoder));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT process_id, value, severity FROM losses") == "100|3|error");
  CHECK(loader.totals().missing == 3);
}

TEST_CASE("rows are counted by how they came") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  wire::Encoder packed;
  test::add_kernel(packed, 0, 0, 1, 0);
  test::add_kernel(packed, 5, 6, 2, 0);
  loader.load(kernels(1, {3}));
  loader.load(BatchBuilder().rows(10, 2, packed).frame(1, wire::batch_salvaged));
  loader.load(wire::make_frame(wire::FrameType::stream_end, 1, {}));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT name, value FROM STATISTIC WHERE kind = "
             "'CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL' ORDER BY name") ==
        "records_received|3 records_salvaged|2 records_without_times|1");
  CHECK(rows(loader.database(), "SELECT salvaged, goodbye FROM PROCESS") == "1|0");
  loader.load(wire::make_frame(wire::FrameType::goodbye, 1, {}));
  CHECK(rows(loader.database(), "SELECT goodbye FROM PROCESS") == "1");
}

TEST_CASE("rows that were thrown away on the way are counted, and their strings are there") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  wire::Encoder packed;
  test::add_kernel(packed, 5, 6, 1, 4);
  test::add_kernel(packed, 7, 8, 2, 4);
  const auto thrown_away =
      wire::without_rows(BatchBuilder().strings({{4, "k"}}).rows(10, 2, packed).frame(1));
  REQUIRE(thrown_away);
  loader.load(*thrown_away);
  loader.load(BatchBuilder().rows(10, 2, packed).frame(1));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT s.value FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k "
             "JOIN StringTable AS s ON s._id_ = k.name") == "k k");
  CHECK(rows(loader.database(), "SELECT name, kind, value FROM losses") ==
        "records_discarded|CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL|2");
  CHECK(loader.totals().missing == 2);
  CHECK(loader.totals().records == 2);
  CHECK(!loader.totals().lossless());
}

TEST_CASE("a batch in parts is one batch, and one that lacks a part is counted") {
  const wire::Frame batch = kernels(1, {1, 2, 3}, {{4, "k"}}, 4);
  const auto part = [&](std::uint32_t number, std::uint32_t parts) {
    const std::size_t each = (batch.length + parts - 1) / parts;
    wire::Encoder encoder;
    encoder.integer(wire::BatchPartHeader{number, parts});
    encoder.raw(
        batch.payload().subspan(number * each).first(std::min(each, batch.length - number * each)));
    return test::frame_of(wire::FrameType::batch_part, 1, encoder);
  };
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  for (std::uint32_t number = 0; number < 5; ++number) loader.load(part(number, 5));
  loader.commit();
  CHECK(rows(loader.database(),
             "SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k "
             "JOIN StringTable AS s ON s._id_ = k.name") == "k|3");
  CHECK(loader.totals().lossless());

  // The second is missing; what comes behind is read. Then the stream ends in the middle.
  for (const std::uint32_t number : {0, 2}) loader.load(part(number, 3));
  for (const std::uint32_t number : {0, 1}) loader.load(part(number, 2));
  loader.load(part(0, 2));
  loader.load(wire::make_frame(wire::FrameType::stream_end, 1, {}));
  loader.commit();
  CHECK(rows(loader.database(), "SELECT name, value FROM losses") == "frames_malformed|2");
  CHECK(rows(loader.database(), "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") ==
        "6");
}

TEST_CASE("what is known of the run and its processes") {
  store::Loader loader = make_loader();
  loader.load(test::fields_frame(wire::FrameType::run, wire::run_stream,
                                 {{"host_name", "h"},
                                  {"cpu_count", "64"},
                                  {"working_directory", "-"},
                                  {"command_line", "99999999999999999999"},
                                  {"t0_realtime_ns", "-5"},
                                  {"never_heard_of", "1"}}));
  loader.load(test::hello(1, 100));
  loader.load(test::fields_frame(wire::FrameType::info, 1,
                                 {{"cupti_version", "130500"}, {"cupti_path", "/libcupti.so"}}));
  loader.load(test::fields_frame(wire::FrameType::info, 1, {{"driver_version", "13000"}}));
  loader.commit();
  Database& database = loader.database();
  CHECK(rows(database,
             "SELECT value, typeof(value) FROM RUN WHERE key NOT IN ('finished', "
             "'schema_version') ORDER BY key") ==
        "99999999999999999999|text 64|integer h|text -5|integer -|text");
  CHECK(rows(database,
             "SELECT processId, parentProcessId, executable, command_line, "
             "cupti_version, cupti_path, driver_version FROM PROCESS") ==
        "100|1|/bin/app|app --fast|130500|/libcupti.so|13000");
  CHECK(rows(database, "SELECT value FROM RUN WHERE key = 'finished'") == "0");
  loader.finish();
  CHECK(rows(database, "SELECT value FROM RUN WHERE key = 'finished'") == "1");
}

TEST_CASE("calls that were left out by one process are left out of the file") {
  store::Loader loader = make_loader();
  const auto told = [&](std::uint32_t stream, const char* functions) {
    loader.load(test::fields_frame(wire::FrameType::info, stream, {{"calls_left_out", functions}}));
    loader.commit();
    return rows(loader.database(), "SELECT value FROM RUN WHERE key = 'calls_left_out'");
  };
  loader.load(test::hello(1, 100));
  CHECK(rows(loader.database(), "SELECT 1 FROM RUN WHERE key = 'calls_left_out'") == "");
  CHECK(told(1, "none") == "none");
  loader.load(test::hello(2, 200));
  CHECK(told(2, "cuCtxGetCurrent,cudaGetDevice") == "cuCtxGetCurrent,cudaGetDevice");
  loader.load(test::hello(3, 300));
  CHECK(told(3, "none") == "cuCtxGetCurrent,cudaGetDevice");
}

TEST_CASE("a file's own state, and other processes, are not told by a stream") {
  store::Loader loader = make_loader();
  loader.load(test::hello(1, 100));
  loader.load(test::hello(2, 200));
  const auto forged = [](std::uint32_t stream) {
    return test::fields_frame(wire::FrameType::run, stream,
                              {{"schema_version", "999"},
                               {"finished", "1"},
                               {"loss", "0"},
                               {"derived_from", "me"},
                               {"host_name", "h"},
                               {"target_process_id", "100"},
                               {"exit_status", "77"}});
  };
  loader.load(forged(2));
  loader.commit();
  const std::string told = "SELECT key, value FROM RUN ORDER BY key";
  CHECK(rows(loader.database(), told) == "finished|0 schema_version|1");
  CHECK(rows(loader.database(), "SELECT exit_status FROM PROCESS WHERE processId = 100") == "-");
  CHECK(rows(loader.database(),
             "SELECT processId, value FROM STATISTIC WHERE name = 'frames_malformed'") == "200|1");
  loader.load(forged(wire::run_stream));
  loader.commit();
  CHECK(rows(loader.database(), told) ==
        "exit_status|77 finished|0 host_name|h schema_version|1 target_process_id|100");
  CHECK(rows(loader.database(), "SELECT exit_status FROM PROCESS WHERE processId = 100") == "77");
}

TEST_CASE("what is committed others see while the loader goes on") {
  const test::TemporaryFolder folder;
  store::Loader loader = make_loader(folder / "run.sqlite");
  Database reader(folder / "run.sqlite", Database::Mode::read_only);
  const std::string count = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL";
  loader.load(test::hello(1, 100));
  loader.load(test::table(1, test::tables::kernel));
  loader.load(kernels(1, {1, 2}));
  CHECK(reader.integer(count) == 0);
  loader.commit();
  CHECK(reader.integer(count) == 2);
  loader.load(kernels(1, {3}));
  CHECK(reader.integer(count) == 2);
  loader.commit();
  CHECK(reader.integer(count) == 3);
}

TEST_CASE("a finished file is an ordinary one with all of nvprof's tables") {
  for (const bool live : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "run.sqlite";
    {
      store::Loader loader = make_loader(path, {.live = live});
      loader.load(test::hello(1, 100));
      loader.load(test::table(1, test::tables::kernel));
      loader.load(kernels(1, {1, 2}));
      loader.finish();
      CHECK(!std::filesystem::exists(path + "-wal"));
      CHECK(!std::filesystem::exists(path + "-journal"));
    }
    CHECK(!std::filesystem::exists(path + "-shm"));
    Database database(path, Database::Mode::read_only);
    CHECK(database.text("PRAGMA journal_mode") == "delete");
    CHECK(database.text("PRAGMA integrity_check") == "ok");
    CHECK(database.integer("SELECT version FROM Version") == 18);
    CHECK(database.integer("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == 2);
    for (const schema::Table& table : schema::legacy::tables) {
      INFO(table.name);
      CHECK(database.integer("SELECT count(*) FROM " + std::string(table.name)) == 0);
      CHECK(database.text("SELECT type FROM sqlite_master WHERE name = '" +
                          std::string(table.name) + "'") == (table.is_view ? "view" : "table"));
    }
    for (const schema::Index& index : schema::indexes) {
      INFO(index.table);
      CHECK(database.has_table(index.table));
      const bool rows = database.integer("SELECT 1 FROM " + std::string(index.table)).has_value();
      CHECK(database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'index' AND "
                             "tbl_name = '" +
                             std::string(index.table) + "'") == rows);
    }
    for (const schema::Table* table : schema::own_tables) CHECK(database.has_table(table->name));
  }
}

TEST_CASE("a small file has small pages, and says whose it is") {
  for (const bool live : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "run.sqlite";
    { make_loader(path, {.live = live}).finish(); }
    CHECK(std::filesystem::file_size(path) < 300 * 1024);
    CHECK(Database(path, Database::Mode::read_only).integer("PRAGMA application_id") == 0x67707266);
    CHECK(Database(path, Database::Mode::read_only).integer("PRAGMA user_version") ==
          schema::schema_version);
  }
}

TEST_CASE("a small file that somebody reads stays as it is, and whole") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.sqlite";
  store::Loader loader = make_loader(path, {.live = false});
  Database reader(path, Database::Mode::read_only);
  store::Statement reading = reader.prepare("SELECT * FROM COLUMN_DOC");
  CHECK(reading.step());
  store::use_small_pages(loader.database());
  CHECK(loader.database().integer("PRAGMA page_size") == 16384);
  CHECK(loader.database().text("PRAGMA integrity_check") == "ok");
}

TEST_CASE("indexes can be left out") {
  store::Loader loader = make_loader(":memory:", {.indexes = false});
  loader.finish();
  CHECK(loader.database().integer(
            "SELECT count(*) FROM sqlite_master WHERE name LIKE 'INDEX_CUPTI%'") == 0);
}

TEST_CASE("a reader that stays does not spoil the end") {
  const test::TemporaryFolder folder;
  const std::string path = folder / "run.sqlite";
  store::Loader loader = make_loader(path);
  loader.load(test::hello(1, 100));
  Database reader(path, Database::Mode::read_only);
  store::Statement reading = reader.prepare("SELECT * FROM STATISTIC_DOC");
  CHECK(reading.step());
  CHECK_NOTHROW(loader.finish());
  CHECK(reading.step());
  reading.reset();
  CHECK(reader.integer("SELECT value FROM RUN WHERE key = 'finished'") == 1);
}

TEST_CASE("a loader killed at work leaves a sound file with what it had committed") {
  for (const bool live : {true, false}) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "run.sqlite";
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      store::Loader loader = make_loader(path, {.live = live});
      loader.load(test::hello(1, 100));
      loader.load(test::table(1, test::tables::kernel));
      std::vector<std::uint32_t> ids(20'000);
      for (std::uint32_t i = 0; i < ids.size(); ++i) ids[i] = i + 1;
      loader.load(kernels(1, ids));
      loader.commit();
      // More than the page cache holds: some of it is in the file already.
      loader.database().execute("PRAGMA cache_size = 10");
      for (int i = 0; i < 5; ++i) loader.load(kernels(1, ids));
      kill(getpid(), SIGKILL);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));
    REQUIRE(WTERMSIG(status) == SIGKILL);
    Database database(path, Database::Mode::read_write);
    CHECK(database.text("PRAGMA integrity_check") == "ok");
    CHECK(database.integer("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL") == 20'000);
    CHECK(database.integer("SELECT value FROM RUN WHERE key = 'finished'") == 0);
  }
}

TEST_CASE("a database that cannot be written says so, with its path") {
  CHECK_THROWS_WITH(make_loader("/no/such/folder/run.sqlite"), Catch::Contains("/no/such/folder"));
  const test::TemporaryFolder folder;
  test::write_file(folder / "text", std::string(5000, 'x'));
  CHECK_THROWS_AS(make_loader(folder / "text"), Error);
}
