// The C ABI against what SQLite gives for the same questions. No JSON and no C++ cross it.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <thread>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/c_api/gpuprof.h"
#include "tests/support/arrow_text.hpp"
#include "tests/unit/replay.hpp"

using namespace gpuprof;
using store::Database;

namespace {

class Fixture {
 public:
  Fixture() : path_(folder_ / "run.sqlite") {
    replay(GPUPROF_SOURCE_DIR "/tests/captures/vector_add.gpcap", path_);
  }
  ~Fixture() { gpuprof_close(run_); }

  void change(const std::string& sql) { Database(path_, Database::Mode::read_write).execute(sql); }
  gpuprof_run* run() {
    if (!run_) REQUIRE(gpuprof_open(path_.c_str(), &run_) == 0);
    return run_;
  }
  std::string table(const std::string& request) {
    ArrowArrayStream stream;
    if (const int code = gpuprof_table(run(), request.c_str(), &stream)) {
      CHECK(!stream.release);
      return std::to_string(code) + " " + gpuprof_error(run());
    }
    return drained(stream);
  }
  std::string sql(const std::string& sql) {
    ArrowArrayStream stream;
    if (const int code = gpuprof_sql(run(), sql.c_str(), &stream)) {
      return std::to_string(code) + " " + gpuprof_error(run());
    }
    return drained(stream);
  }
  std::string memory(const std::string& request) {
    ArrowArrayStream stream;
    if (const int code = gpuprof_memory(run(), request.c_str(), &stream)) {
      CHECK(!stream.release);
      return std::to_string(code) + " " + gpuprof_error(run());
    }
    return drained(stream);
  }
  std::string accounts(const std::string& request) {
    ArrowArrayStream stream;
    if (const int code = gpuprof_accounts(run(), request.c_str(), &stream)) {
      CHECK(!stream.release);
      return std::to_string(code) + " " + gpuprof_error(run());
    }
    return drained(stream);
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryFolder folder_;
  std::string path_;
  gpuprof_run* run_ = nullptr;
};

}  // namespace

TEST_CASE("c_api: the types of a table's columns are the schema's, whatever it holds") {
  Fixture file;
  file.change("DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET");
  CHECK(file.table(R"({"table": "cupti_activity_kind_memset",
                       "columns": ["start", "memoryKind", "_id_", "isAsync"]})")
            .starts_with("5 the table CUPTI_ACTIVITY_KIND_MEMSET has no column isAsync"));
  CHECK(file.table(R"({"table": "CUPTI_ACTIVITY_KIND_MEMSET",
                       "columns": ["start", "memoryKind", "_id_"]})") ==
        "start:l memoryKind:t _id_:l");
  // A table that the file lacks.
  file.change("DROP VIEW IF EXISTS memsets; DROP TABLE CUPTI_ACTIVITY_KIND_MEMSET");
  CHECK(file.table(R"({"table": "CUPTI_ACTIVITY_KIND_MEMSET", "columns": ["start"]})") ==
        "start:l");
}

TEST_CASE("c_api: names and enums are texts, or raw; what does not fit is NULL") {
  Fixture file;
  file.change(
      "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY; DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;"
      "INSERT INTO StringTable(_id_, value, demangled) VALUES(900, '_Z1fv', 'f()'), (901, x'ff41', "
      "NULL);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(_id_, copyKind, bytes) "
      "VALUES(1, 1, NULL), (2, NULL, 7), (3, 99, 'a text'), (4, 2, 1 << 40);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(_id_, name, start, deviceId) "
      "VALUES(1, 900, 5, 0), (2, 0, 6, 1), (3, 901, 7, 0), (4, 12345, 8, 0), (5, 900, 9, NULL)");
  CHECK(
      file.table(R"({"table": "CUPTI_ACTIVITY_KIND_MEMCPY", "columns": ["copyKind", "bytes"]})") ==
      "copyKind:t bytes:l HtoD|- -|7 99|- DtoH|1099511627776");
  CHECK(file.table(R"({"table": "CUPTI_ACTIVITY_KIND_MEMCPY", "columns": ["copyKind"],
                       "raw": true})") == "copyKind:i 1 - 99 2");
  const std::string kernels =
      R"({"table": "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "columns": ["name", "_id_"])";
  CHECK(file.table(kernels + "}") ==
        "name:t _id_:l f()|1 -|2 \xef\xbf\xbd"
        "A|3 -|4 f()|5");
  SECTION("conditions") {
    CHECK(file.table(kernels + R"(, "from": 6, "to": 8})") ==
          "name:t _id_:l -|2 \xef\xbf\xbd"
          "A|3");
    CHECK(file.table(kernels + R"(, "devices": [1]})") == "name:t _id_:l -|2");
    CHECK(file.table(kernels + R"(, "devices": []})") == "name:t _id_:l");
    CHECK(file.table(kernels + R"(, "matches": {"name": "^f"}})") == "name:t _id_:l f()|1 f()|5");
    CHECK(file.table(kernels + R"x(, "equals": {"name": ["f()"], "_id_": [1, 2]
  }
})x") == "name:t _id_:l f()|1");
    CHECK(file.table(kernels + R"(, "equals": {"deviceId": [null, 1]}})") ==
          "name:t _id_:l -|2 f()|5");
    CHECK(file.table(kernels + R"(, "front": [["rank", "int64", 3], ["host", "text", null]],
                                    "equals": {"_id_": [1]}})") ==
          "rank:l host:t name:t _id_:l 3|-|f()|1");
    CHECK(file.table(kernels + R"(, "matches": {"name": "("}})").starts_with("5 "));
    CHECK(file.table(kernels + R"(, "wher": {}})").starts_with("5 the question for rows: "));
    CHECK(file.table(R"({"table": "RUN", "from": 3})").starts_with("5 rows of the table RUN"));
    CHECK(file.table("{").starts_with("5 "));
  }
}

TEST_CASE("c_api: where the memory went") {
  Fixture file;
  file.change(
      "DELETE FROM CUPTI_ACTIVITY_KIND_MEMORY2; DELETE FROM CUPTI_ACTIVITY_KIND_MEMORY_POOL;"
      "INSERT INTO StringTable(_id_, value) VALUES(900, 'libfirst.so');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(timestamp, processId, deviceId, address, bytes, "
      "memoryKind, memoryOperationType, source, poolType) VALUES"
      "(1000, 77, 0, 16, 100, 3, 1, 900, 0), (2000, 77, 0, 32, 50, 3, 1, 0, 0), "
      "(3000, 77, 0, 16, 100, 3, 2, 900, 0), (4000, 77, 0, 48, 20, 2, 1, 0, 0)");
  const std::string peaks = file.memory(R"({"table": "memory_peaks"})");
  CHECK(peaks.starts_with("process_id:l device_id:l memory:t pool_type:t peak_bytes:l"));
  CHECK(peaks.find("77|0|Device|-|150|2|2000|") != peaks.npos);
  CHECK(peaks.find("77|0|Pinned|-|20|1|4000|") != peaks.npos);
  INFO(peaks);
  const std::string owners = file.memory(R"({"table": "memory_owners", "by": "library"})");
  CHECK(owners.find("|library|libfirst.so|100|1|r0.6666666666666666|100|1|100|0|0") != owners.npos);
  const std::string front =
      file.memory(R"({"table": "memory_timeline", "points": 2, "front": [["rank", "int64", 3]]})");
  CHECK(front.starts_with("rank:l process_id:l"));
  CHECK(front.find("3|77|0|Device|-|2500|") != front.npos);
  CHECK(file.memory(R"({"table": "nothing"})").starts_with("5 there is no table nothing"));
  CHECK(file.memory(R"({"table": "memory_peaks", "by": "colour"})").starts_with("5 memory can be"));
  CHECK(file.memory(R"({"table": "memory_peaks", "points": -1})").starts_with("5 the question"));
  CHECK(file.memory(R"({"table": "memory_peaks", "wher": 1})").starts_with("5 the question"));
  CHECK(file.memory("{").starts_with("5 "));

  // The allocation at 32 is in the segment too.
  const auto torch = [&](const std::string& table, const std::string& more = "",
                         const std::string& segments = R"({"address": 16, "bytes": 100,
                             "allocated": 60, "active": 60, "requested": 60})") {
    return file.memory(R"({"table": ")" + table +
                       R"(", "torch": {"file": "a.pickle", "segments": [)" + segments + "]}" +
                       more + "}");
  };
  const std::string segments = torch("torch_segments");
  INFO(segments);
  CHECK(segments.find("77|0|16|100|0|-|0|0|60|60|60|40|0|-|100|2|16|100|1000") != segments.npos);
  const std::string devices = torch("torch_devices", R"(, "time": 2500, "process": 77)");
  INFO(devices);
  CHECK(devices.find("|asked|1|100|60|60|60|40|0|-|100|0|150|50|-|-|-|-") != devices.npos);
  CHECK(torch("memory_peaks").starts_with("5 there is no table memory_peaks"));
  CHECK(torch("torch_devices", R"(, "process": 1)").starts_with("5 the file has no memory of"));
  CHECK(torch("torch_devices", R"(, "time": "now")").starts_with("5 the question"));
  for (const char* wrong : {"7", "{}", R"({"segments": {}})", R"({"segments": [7]})",
                            R"({"segments": [], "taken_at": "now"})"}) {
    CHECK(file.memory(R"({"table": "torch_devices", "torch": )" + std::string(wrong) + "}")
              .starts_with("5 the question"));
  }
  for (const char* wrong : {R"({"address": -1})", R"({"address": "1"})", R"({"bytes": 1.5})",
                            R"({"blocks": 9223372036854775808})"}) {
    CHECK(torch("torch_devices", "", wrong).starts_with("5 the question"));
  }
  for (const auto& [wrong, why] :
       {std::pair(R"({"address": 9223372036854775807, "bytes": 1})", "segment 1: it ends past"),
        std::pair(R"({"bytes": 8, "active": 9})", "segment 1: more of it is in use"),
        std::pair(R"({"bytes": 8, "allocated": 8})", "segment 1: more of it is in use"),
        std::pair(R"({"bytes": 8, "largest_free": 9})", "segment 1: more of it is in use"),
        std::pair(R"({"address": 8, "bytes": 8}, {"bytes": 9})", "segments overlap")}) {
    CHECK(torch("torch_devices", "", wrong).starts_with("20 a.pickle: " + std::string(why)));
  }
  // Sums that 64 bits do not hold.
  const std::string huge = R"({"device": 1, "blocks": 9223372036854775807,
                               "requested": 9223372036854775807, "address": )";
  CHECK(torch("torch_devices", "", huge + "0}, " + huge + "1}").find("|9223372036854775807|") !=
        std::string::npos);
}

TEST_CASE("c_api: accounts of windows add up to each, and open ends are those of the run") {
  Fixture file;
  file.change(
      "DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE rowid > 1;"
      "DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY; DELETE FROM CUPTI_ACTIVITY_KIND_MEMSET;"
      "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER;"
      "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = 1000, end = 1100, processId = 77");
  CHECK(file.accounts(R"({"windows": [[null, 1020], [1020, 1050], [1200, 1210]]})") ==
        "window:l device_id:l class:t cause:t duration:l intervals:l "
        "0|0|compute|-|20|1 1|0|compute|-|30|1 2|0|after|-|10|1");
  CHECK(file.accounts(R"({"windows": [[900, 1020]]})")
            .ends_with("0|0|before|-|100|1 0|0|compute|-|20|1"));
  CHECK(file.accounts(R"({"windows": []})").starts_with("window:l"));
  for (const char* wrong :
       {"{", "7", "{}", R"({"windows": 7})", R"({"windows": [7]})", R"({"windows": [[1]]})",
        R"({"windows": [[2, 1]]})", R"({"windows": [["1", 2]]})", R"({"windows": [[1, 1.5]]})",
        R"({"windows": [[1, 3], [2, 4]]})", R"({"windows": [[1, null], [2, 4]]})",
        R"({"windows": [], "other": 1})"}) {
    INFO(wrong);
    CHECK(file.accounts(wrong).starts_with("5 "));
  }
}

TEST_CASE("c_api: memory that no record accounts for is named by the longest call meanwhile") {
  Fixture file;
  file.change(
      "DELETE FROM CUPTI_ACTIVITY_KIND_MEMORY2; DELETE FROM CUPTI_ACTIVITY_KIND_MEMORY_POOL;"
      "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME; DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER;"
      "DELETE FROM API_NAME; INSERT INTO API_NAME(domain, cbid, name) VALUES"
      "('runtime', 1, 'cudaDeviceSynchronize_v3020'), ('driver', 2, 'cuModuleLoadData'), "
      "('runtime', 3, 'cudaFree_v3020');"
      "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, processId, correlationId) VALUES"
      "(3, 100, 900, 77, 1), (1, 1100, 1900, 77, 2), (3, 1500, 1510, 77, 3);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_DRIVER(cbid, start, end, processId, correlationId) VALUES"
      "(2, 1600, 1700, 78, 4);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_MEMORY2(timestamp, processId, deviceId, address, bytes, "
      "memoryKind, memoryOperationType, poolType) VALUES(1200, 77, 0, 16, 3000000, 3, 1, 0);"
      "INSERT INTO DEVICE_MEMORY(time, deviceId, freeBytes, totalBytes, reason, processId) VALUES"
      "(1000, 0, 98000000, 100000000, 1, 77), (2000, 0, 90000000, 100000000, 2, 77), "
      "(3000, 0, 90000001, 100000000, 0, 77)");
  const std::string appeared = file.memory(R"({"table": "memory_unaccounted"})");
  INFO(appeared);
  // Of the 8,000,000 bytes that were gone 3,000,000 are in a record.
  CHECK(appeared.find("0|5000000|2000|") != appeared.npos);
  CHECK(appeared.find("|1000|cuModuleLoadData|78|100") != appeared.npos);
  CHECK(appeared.find("0|2000000|1000|") != appeared.npos);
  CHECK(appeared.find("|-|cudaFree|77|800") != appeared.npos);
  const std::string readings = file.memory(R"({"table": "memory_readings"})");
  INFO(readings);
  CHECK(readings.find("|module|10000000|100000000|3000000|7000000") != readings.npos);
}

TEST_CASE("c_api: views and their conditions") {
  Fixture file;
  CHECK(file.table(R"({"table": "kernels", "columns": ["short_name", "grid"],
                       "equals": {"stream_id": [7]}, "matches": {"name": "vec"}, "devices": [0]})") ==
        file.sql("SELECT short_name, grid FROM kernels WHERE stream_id = 7 AND device_id = 0"));
  CHECK(file.table(R"({"table": "kernels", "columns": ["none"]})") ==
        "5 kernels has no column none");
  CHECK(file.table(R"({"table": "devices", "from": 3})") == "5 devices has no column start");
  CHECK(file.table(R"({"table": "nothing"})") == "5 the file has no table or view nothing");
  file.change("CREATE VIEW \"a \"\" b\" AS SELECT 'x' AS \"c \"\" d\"");
  CHECK(file.table(R"({"table": "a \" b", "columns": ["c \" d"]})") == "c \" d:t x");
}

TEST_CASE("c_api: a column of an answer has the type that fits its values") {
  Fixture file;
  CHECK(file.sql("SELECT 1 AS a, 2.5 AS b, 'c' AS c, x'41' AS d, NULL AS e UNION ALL "
                 "SELECT 2, 3, 4, NULL, NULL") == "a:l b:g c:t d:Z e:n 1|r2.5|c|xA|- 2|r3|4|-|-");
  CHECK(file.sql("SELECT start, name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE 0") ==
        "start:l name:l");
  CHECK(file.sql("DELETE FROM RUN").starts_with("5 only questions are answered"));
  CHECK(file.sql("SELECT * FROM nowhere").starts_with("5 no such table"));
  CHECK(std::string(gpuprof_hint(file.run())) != "");
  CHECK(file.sql("SELECT 1 AS a") == "a:l 1");
  CHECK(std::string(gpuprof_error(file.run())).empty());
}

TEST_CASE("c_api: texts about a file, and reports") {
  Fixture file;
  const char* text = nullptr;
  REQUIRE(gpuprof_contents(file.run(), &text) == 0);
  CHECK(std::string(text).find("\"format\":\"gpuprof\"") != std::string::npos);
  REQUIRE(gpuprof_catalogue(file.run(), &text) == 0);
  CHECK(std::string(text).find("\"name\":\"kernels\"") != std::string::npos);
  REQUIRE(gpuprof_report(file.run(), "gpu-trace", "text", &text) == 0);
  CHECK(std::string(text).find("[CUDA memcpy HtoD]") != std::string::npos);
  CHECK(gpuprof_report(file.run(), "gpu-race", "text", &text) == 5);
  CHECK(std::string(gpuprof_hint(file.run())).find("gpu-trace") != std::string::npos);
  CHECK(gpuprof_report(file.run(), "", "html", &text) == 5);
  CHECK(gpuprof_abi_version() == GPUPROF_ABI_VERSION);
}

TEST_CASE("c_api: a file that is none, and a run that is none") {
  gpuprof_run* run = nullptr;
  CHECK(gpuprof_open("/nowhere/run.sqlite", &run) == 20);
  REQUIRE(run);
  CHECK(std::string(gpuprof_error(run)).find("/nowhere/run.sqlite") != std::string::npos);
  ArrowArrayStream stream;
  CHECK(gpuprof_table(run, R"({"table": "RUN"})", &stream) == 5);
  CHECK(!stream.release);
  gpuprof_close(run);
  gpuprof_close(nullptr);
}

TEST_CASE("c_api: streams outlive their run, and are joined") {
  ArrowArrayStream streams[2], joined;
  {
    Fixture file;
    REQUIRE(gpuprof_sql(file.run(), "SELECT 1 AS a, 'x' AS b", &streams[0]) == 0);
    REQUIRE(gpuprof_sql(file.run(), "SELECT 2 AS a, 'y' AS b", &streams[1]) == 0);
    REQUIRE(gpuprof_join(streams, 2, &joined) == 0);
    CHECK(!streams[0].release);
    CHECK(drained(joined) == "a:l b:t 1|x 2|y");
    REQUIRE(gpuprof_sql(file.run(), "SELECT 1 AS a", &streams[0]) == 0);
    REQUIRE(gpuprof_sql(file.run(), "SELECT 'x' AS a", &streams[1]) == 0);
    CHECK(gpuprof_join(streams, 2, &joined) == 5);
    CHECK(!joined.release);
    REQUIRE(gpuprof_sql(file.run(), "SELECT 3 AS a", &streams[0]) == 0);
  }
  CHECK(drained(streams[0]) == "a:l 3");
}

TEST_CASE("c_api: another thread ends a call", "[tsan]") {
  Fixture file;
  gpuprof_run* run = file.run();
  int code = 0;
  std::atomic<bool> over = false;
  std::thread caller([&] {
    ArrowArrayStream stream;
    code = gpuprof_sql(run,
                       "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
                       "SELECT max(i) FROM n",
                       &stream);
    over = true;
  });
  while (!over) {
    gpuprof_stop(run);
    std::this_thread::yield();
  }
  caller.join();
  CHECK(code == GPUPROF_STOPPED);
  CHECK(file.sql("SELECT 1 AS a") == "a:l 1");
}

TEST_CASE("c_api: bytes that are no UTF-8") {
  CHECK(valid_utf8("a\xc3\xa4\xf0\x9f\x98\x80") == "a\xc3\xa4\xf0\x9f\x98\x80");
  const std::string replaced = "\xef\xbf\xbd";
  CHECK(valid_utf8("\xc3") == replaced);
  CHECK(valid_utf8("\xc0\x80z") == replaced + replaced + "z");
  CHECK(valid_utf8("\xed\xa0\x80") == replaced + replaced + replaced);
}
