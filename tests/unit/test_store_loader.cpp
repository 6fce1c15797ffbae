// Rows, and the tables and columns that streams bring.
#include <catch2/catch.hpp>

#include "libprof/store/loader.hpp"
#include "schema/legacy.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using test::BatchBuilder;
using test::kernels;
using test::make_loader;
using test::rows;

namespace {

constexpr const char* correlation_ids =
    "SELECT correlationId >> 32, correlationId & 0xffffffff FROM "
    "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ORDER BY _id_";

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
