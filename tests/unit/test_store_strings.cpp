// StringTable: texts that rows refer to.
#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "libprof/read/rescue.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/store/string_writer.hpp"
#include "schema/run.hpp"
#include "tests/unit/loaded.hpp"
#include "tests/unit/stream_builder.hpp"

using namespace gpuprof;
using test::BatchBuilder;
using test::kernels;
using test::make_loader;
using test::rows;

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
  CHECK(rows(loader.database(),
             "SELECT _id_, value, demangled, short FROM StringTable ORDER BY _id_") ==
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
  CHECK(std::ranges::none_of(reading::read_schema(loader.database()), [](const auto& object) {
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

TEST_CASE("a readable name is put next to its string when it is there") {
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
