// What a file knows when its run is over.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/compute/derive.hpp"
#include "libprof/compute/device_time.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/compute/sort_runs.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/store/database_schema.hpp"
#include "tests/unit/empty_profile.hpp"
#include "tests/unit/loaded.hpp"

using namespace gpuprof;
using store::Database;
using test::rows;

namespace {

// A profile made by SQL, not by a loader.
Database profile(const std::string& sql) {
  Database database = test::empty_profile();
  database.execute(
      "INSERT INTO StringTable(_id_, value) VALUES(1, 'outer'), (2, 'inner'), (3, 'add'), "
      "(4, 'copy thread');"
      "INSERT INTO API_NAME VALUES('runtime', 211, 'cudaLaunchKernel_v7000'), "
      "('runtime', 165, 'cudaDeviceSynchronize_v3020');" +
      sql);
  return database;
}

void derive_all(Database& database) { CHECK(compute::compute(database, {}).empty()); }

std::string range(int id, int thread, int begin, const std::string& end, int parent, int name) {
  return "INSERT INTO NVTX_RANGE(_id_, processId, threadId, start, stop, parent, name) VALUES(" +
         std::to_string(id) + ", 7, " + std::to_string(thread) + ", " + std::to_string(begin) +
         ", " + end + ", " + (parent ? std::to_string(parent) : "NULL") + ", " +
         std::to_string(name) + ");";
}

std::string call(int correlation, int thread, int begin, int end, int cbid = 211) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, processId, threadId, "
         "correlationId) VALUES(" +
         std::to_string(cbid) + ", " + std::to_string(begin) + ", " + std::to_string(end) +
         ", 7, " + std::to_string(thread) + ", " + std::to_string(correlation) + ");";
}

std::string kernel(int correlation, int begin, int end, int stream = 1, int device = 0) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, end, deviceId, contextId, "
         "streamId, correlationId, name, processId) VALUES(" +
         std::to_string(begin) + ", " + std::to_string(end) + ", " + std::to_string(device) +
         ", 1, " + std::to_string(stream) + ", " + std::to_string(correlation) + ", 3, 7);";
}

std::string copy(int correlation, int begin, int end, int stream = 1) {
  return "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(copyKind, bytes, start, end, deviceId, contextId, "
         "streamId, correlationId, processId) VALUES(1, 8, " +
         std::to_string(begin) + ", " + std::to_string(end) + ", 0, 1, " + std::to_string(stream) +
         ", " + std::to_string(correlation) + ", 7);";
}

}  // namespace

TEST_CASE("derive: launches have the range of their thread, or of the process at that time") {
  Database database =
      profile(range(1, 10, 100, "500", 0, 1) + range(2, 10, 200, "300", 1, 2) +
              range(3, 20, 600, "NULL", 0, 4) + call(1, 10, 150, 160) + call(2, 10, 250, 260) +
              call(3, 30, 250, 260) + call(4, 10, 550, 560) + call(5, 30, 700, 710) +
              call(6, 10, 120, 125) + kernel(1, 1000, 1100) + kernel(2, 1100, 1200) +
              copy(3, 1150, 1250, 2) + kernel(4, 1300, 1400) + kernel(5, 1400, 1500) +
              kernel(5, 1600, 1650));
  derive_all(database);
  // Call 6 asked for nothing, and call 4 was in no range.
  CHECK(rows(database, "SELECT * FROM LAUNCH_RANGE") == "1|1|1 2|2|1 3|2|0 5|3|0");
  CHECK(rows(database,
             "SELECT correlation_id, range_id, range_name, range_path, range_match FROM "
             "gpu_activities ORDER BY start") ==
        "1|1|outer|outer|thread 2|2|inner|outer / inner|thread 3|2|inner|outer / inner|time "
        "4|-|-|-|- 5|3|copy thread|copy thread|time 5|3|copy thread|copy thread|time");
  CHECK(rows(database, "SELECT name, range_match FROM launches WHERE correlation_id = 2") ==
        "add|thread");
  // What is in a range counts for those around it, once where it overlaps.
  CHECK(rows(database, "SELECT * FROM RANGE_TIME") ==
        "1|0|3|2|250|1000|1250 2|0|2|1|150|1100|1250 3|0|2|2|150|1400|1650");
  CHECK(rows(database, "SELECT name, host_ms * 1e6, gpu_busy_ms * 1e6, kernels FROM nvtx_gpu") ==
        "outer|400.0|250.0|2 inner|100.0|150.0|1 copy thread|-|150.0|2");
}

TEST_CASE("derive: what was computed before is computed again") {
  Database database = profile(range(1, 10, 100, "500", 0, 1) + call(1, 10, 150, 160) +
                              kernel(1, 1000, 1100) + kernel(9, 1200, 1300));
  derive_all(database);
  const std::string strings = rows(database, "SELECT count(*) FROM StringTable");
  database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL");
  derive_all(database);
  for (const char* table :
       {"LAUNCH_RANGE", "RANGE_TIME", "DEVICE_TIME", "STREAM_TIME", "GPU_GAP"}) {
    INFO(table);
    CHECK(rows(database, "SELECT count(*) FROM " + std::string(table)) == "0");
  }
  CHECK(rows(database, "SELECT * FROM NVTX_PATH") == "1|1");
  CHECK(rows(database, "SELECT count(*) FROM StringTable") == strings);
}

TEST_CASE("derive: the time of a device") {
  // 100-200 kernel, 150-250 copy, 300-400 kernel on two streams, 400-410 kernel; of another device
  // one kernel. A row without times and one that ends before it begins count for nothing.
  Database database = profile(
      kernel(1, 100, 200) + copy(2, 150, 250, 2) + kernel(3, 300, 400, 1) + kernel(4, 300, 390, 2) +
      kernel(5, 400, 410) + kernel(6, 1000, 1010, 1, 1) + kernel(7, 0, 0) + kernel(8, 50, 40) +
      call(3, 10, 210, 240) + call(4, 10, 245, 295, 165) + call(5, 10, 395, 399));
  derive_all(database);
  CHECK(rows(database, "SELECT * FROM DEVICE_TIME") ==
        "0|100|410|260|160|50|50|0|1 1|1000|1010|10|10|0|0|0|0");
  CHECK(rows(database, "SELECT * FROM STREAM_TIME") == "0|0|50 0|1|120 0|2|140 1|1|10");
  CHECK(rows(database,
             "SELECT device_id, start, \"end\", duration, before, behind, host_call, "
             "host_call_ns, no_call_ns, correlation_id FROM gpu_gaps") ==
        "0|250|300|50|memcpy|add|-|-|0|3");
  CHECK(rows(database, "SELECT device_id, idle_ms * 1e6, gaps FROM gpu_utilization") ==
        "0|50.0|1 1|0.0|0");
  // From the first kernel on, which is earlier than the first call, to the end of the last.
  CHECK(rows(database, "SELECT * FROM DEVICE_ACCOUNT") ==
        "0|after||0|600|1 0|compute||0|210|2 0|copy||1|50|1 0|launch|runtime|211|50|1 "
        "1|before||0|900|1 1|compute||0|10|1");
  CHECK(rows(database,
             "SELECT class, cause, duration_ms * 1e6, round(share * 910) FROM account "
             "WHERE device_id = 0 AND cause NOT NULL") ==
        "copy|HtoD|50.0|50.0 launch|cudaLaunchKernel|50.0|50.0");
  database.execute(
      "UPDATE StringTable SET value = 'mangled', short = 'ncclDevKernel_AllReduce' WHERE _id_ = 3");
  derive_all(database);
  CHECK(rows(database, "SELECT exposed_communication_ms * 1e6 FROM gpu_utilization") ==
        "160.0 10.0");
}

TEST_CASE("derive: steps are ranges that are called so") {
  std::string sql;
  const std::vector<std::string> names{"step 1",         "Step_17", "ProfilerStep#3", "iteration 4",
                                       "iter: 5",        "batch",   "train_step 9",   "steppe",
                                       "optimizer.step", "forward"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string id = std::to_string(100 + i);
    sql += "INSERT INTO StringTable(_id_, value) VALUES(" + id + ", '" + names[i] + "');" +
           range(static_cast<int>(i) + 1, 10, 100 + static_cast<int>(i), "200", 0,
                 100 + static_cast<int>(i));
  }
  Database database = profile(sql);
  derive_all(database);
  CHECK(rows(database, "SELECT count(*), max(range_id), sum(work) FROM steps") == "7|7|0");
}

TEST_CASE("derive: a path ends where it is too long, and a circle of ranges leads nowhere") {
  std::string sql =
      "INSERT INTO StringTable(_id_, value) VALUES(9, '" + std::string(900, 'x') + "');";
  for (int i = 1; i <= 8; ++i) sql += range(i, 10, 100 + i, "200", i - 1, 9);
  sql += "UPDATE NVTX_RANGE SET parent = 8 WHERE _id_ = 1;" + call(1, 10, 150, 160) +
         kernel(1, 1000, 1100);
  Database database = profile(sql);
  derive_all(database);
  CHECK(rows(database,
             "SELECT length(value) FROM NVTX_PATH LEFT JOIN StringTable s ON s._id_ = path "
             "ORDER BY range") == "900 1803 2706 3609 - - - -");
  CHECK(rows(database, "SELECT count(*) FROM RANGE_TIME") == "8");
}

TEST_CASE("derive: ranges that are opened and never closed do not take the square") {
  std::string sql;
  for (int i = 1; i <= 40; ++i) sql += range(i, 10, 100 + i, "NULL", i - 1, 1);
  Database database = profile(sql + call(1, 10, 150, 160) + kernel(1, 1000, 1100));
  derive_all(database);
  CHECK(rows(database, "SELECT count(*), min(range), max(range), sum(busy) FROM RANGE_TIME") ==
        "32|9|40|3200");
}

TEST_CASE("derive: it can be told to stop") {
  Database database = profile(kernel(1, 100, 200));
  CHECK_THROWS_AS(compute::compute(database, {.stop = [] { return true; }}), store::DatabaseError);
}

TEST_CASE("sorted: in memory and by way of a file, and twice") {
  struct Item {
    std::uint32_t key, number;
    bool operator<(const Item& other) const { return key < other.key; }
  };
  // All, some and none of the sorted items stay in memory.
  using Room = std::pair<std::size_t, std::size_t>;
  for (const auto& [most, kept] :
       {Room(100'000, 0), Room(1000, 0), Room(7, 0), Room(7, 2'500), Room(1000, 100'000)}) {
    std::mt19937 random(1);
    compute::Sorted<Item> sorted(most, kept);
    CHECK(sorted.empty());
    std::multiset<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < 5000; ++i) {
      const std::uint32_t key = random() % 1000;
      sorted.add({key, i});
      expected.insert(key);
    }
    CHECK_FALSE(sorted.empty());
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<std::uint32_t> keys;
      std::uint32_t before = 0, key = 0;
      bool stable = true;
      sorted.for_each([&](const Item& item) {
        stable &= keys.empty() || item.key != key || item.number > before;
        before = item.number;
        key = item.key;
        keys.push_back(item.key);
      });
      CHECK(stable);
      CHECK(std::ranges::equal(keys, expected));
    }
  }
}

// Against counting each nanosecond.
TEST_CASE("device time: any mix of work") {
  std::mt19937 random(2);
  const auto below = [&](int limit) { return static_cast<std::int64_t>(random() % limit); };
  for (int turn = 0; turn < 200; ++turn) {
    std::vector<compute::GpuWork> all(static_cast<std::size_t>(1 + below(30)));
    for (compute::GpuWork& work : all) {
      work.begin = 1 + below(300);
      work.end = work.begin + 1 + below(40);
      work.stream = below(4);
      work.kind = static_cast<std::uint8_t>(below(2) ? 1 : 3);  // kernel, copy
      work.communicates = work.is_kernel() && below(2);
    }
    std::sort(all.begin(), all.end());
    compute::DeviceTime time;
    for (const compute::GpuWork& work : all) time.add(work);
    time.finish();
    std::int64_t first = INT64_MAX, last = 0, kernels_only = 0, copies_only = 0, both = 0, gaps = 0;
    std::int64_t exposed = 0;
    for (const compute::GpuWork& work : all) {
      first = std::min(first, work.begin);
      last = std::max(last, work.end);
    }
    std::map<std::int64_t, std::int64_t> by_streams;
    std::map<compute::DeviceTime::Doing, compute::DeviceTime::Part> parts;
    std::optional<compute::DeviceTime::Doing> before;
    bool was_busy = true;
    for (std::int64_t ns = first; ns < last; ++ns) {
      bool kernel = false, copy = false, computes = false;
      std::set<std::int64_t> streams;
      for (const compute::GpuWork& work : all) {
        if (ns < work.begin || ns >= work.end) continue;
        (work.is_kernel() ? kernel : copy) = true;
        computes = computes || (work.is_kernel() && !work.communicates);
        streams.insert(work.stream);
      }
      kernels_only += kernel && !copy;
      exposed += kernel && !copy && !computes;
      copies_only += copy && !kernel;
      both += kernel && copy;
      ++by_streams[static_cast<std::int64_t>(streams.size())];
      std::optional<compute::DeviceTime::Doing> doing;
      for (const compute::GpuWork& work : all) {
        if (ns < work.begin || ns >= work.end) continue;
        using enum compute::DeviceTime::Activity;
        const auto activity = work.is_kernel() ? work.communicates ? communication : compute
                              : work.direction == compute::GpuWork::no_copy ? set
                                                                            : copy;
        const compute::DeviceTime::Doing its{
            activity, work.is_kernel() ? compute::GpuWork::no_copy : work.direction};
        doing = doing ? std::min(*doing, its) : its;
      }
      if (doing) {
        parts[*doing].intervals += doing != before;
        ++parts[*doing].duration;
      }
      before = doing;
      gaps += was_busy && streams.empty();
      was_busy = !streams.empty();
    }
    CHECK(time.first() == first);
    CHECK(time.last() == last);
    CHECK(time.kernels_only() == kernels_only);
    CHECK(time.copies_only() == copies_only);
    CHECK(time.both() == both);
    CHECK(time.exposed_communication() == exposed);
    CHECK(time.gap_count() == gaps);
    CHECK(time.streams() == by_streams);
    const auto found = time.take_parts();
    REQUIRE(found.size() == parts.size());
    for (const auto& [doing, part] : found) {
      CHECK(part.duration == parts[doing].duration);
      CHECK(part.intervals == parts[doing].intervals);
    }
    std::int64_t idle = 0;
    for (const compute::Gap& gap : time.gaps()) idle += gap.length();
    CHECK(idle == last - first - time.busy());
  }
}

TEST_CASE("host calls: a gap by functions, many gaps or few") {
  std::vector<compute::Gap> gaps;
  for (int i = 0; i < 100; ++i) {
    compute::Gap& gap = gaps.emplace_back();
    gap.begin = 100 * i + 50;
    gap.end = 100 * i + 80;
    gap.behind.process = 7;
  }
  gaps.back().behind.process = 9;
  compute::HostCalls calls(gaps);
  calls.add({7, 9055, 9060, 3, 20});
  calls.add({7, 9060, 9070, 4, 20});
  calls.add({7, 9072, 9084, 5, 21});
  calls.add({7, 1, 9001, 1, 22});  // in the first 90, and what lies in it does not count
  calls.add({7, 140, 185, 2, 23});
  calls.add({8, 9000, 9100, 6, 24});  // of another process
  calls.add({7, 0, 0, 7, 25});
  const auto found = calls.finish();
  REQUIRE(found.size() == 100);
  CHECK(found[0]->correlation == 1);
  CHECK(found[0]->time == 30);
  CHECK(found[1]->correlation == 1);
  CHECK(found[89]->in_calls == 30);
  CHECK(found[90]->correlation == 4);  // of two calls the longer one
  CHECK(found[90]->time == 15);
  CHECK(found[90]->in_calls == 23);
  CHECK(found[91]->correlation == 0);
  CHECK(found[91]->in_calls == 0);
  CHECK_FALSE(found[99]);  // no call of that process is known
}

// Against each nanosecond of each gap, out of the rows.
TEST_CASE("derive: gaps are split as SQL splits them") {
  std::mt19937 random(3);
  const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  std::int64_t split = 0, in_none = 0;
  for (int turn = 0; turn < 20; ++turn) {
    std::string sql;
    for (int i = 1; i <= 12; ++i) {
      const int begin = 1 + below(600);
      sql += kernel(i, begin, begin + 1 + below(30), 1, below(2));
    }
    for (int i = 1; i <= 25; ++i) {
      const int begin = 1 + below(600);
      // Each begins at a time of its own, so that which one counts is plain.
      sql += call(100 + i, below(3), 10 * begin + i % 10, 10 * (begin + 1 + below(60)),
                  below(2) ? 211 : 165);
    }
    sql +=
        "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = 10 * start, \"end\" = 10 * "
        "\"end\";"
        "DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r WHERE EXISTS (SELECT 1 FROM "
        "CUPTI_ACTIVITY_KIND_RUNTIME AS o WHERE o.start = r.start AND o._id_ < r._id_);";
    Database database = profile(sql);
    derive_all(database);
    // Pieces between all moments in a gap, and of each the open call that began first.
    database.execute(R"(
      CREATE TEMP TABLE piece AS
      WITH moment(gap, at) AS (
        SELECT g._id_, g.start FROM GPU_GAP AS g UNION SELECT g._id_, g.stop FROM GPU_GAP AS g UNION
        SELECT g._id_, r.start FROM GPU_GAP AS g JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
        ON r.start BETWEEN g.start AND g.stop UNION
        SELECT g._id_, r."end" FROM GPU_GAP AS g JOIN CUPTI_ACTIVITY_KIND_RUNTIME AS r
        ON r."end" BETWEEN g.start AND g.stop),
      span AS (SELECT gap, at, lead(at) OVER (PARTITION BY gap ORDER BY at) AS until FROM moment)
      SELECT gap, until - at AS ns,
             (SELECT cbid FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r WHERE r.start <= at AND r."end" >= until
              ORDER BY r.start LIMIT 1) AS cbid
      FROM span WHERE until NOT NULL;)");
    CHECK(rows(database, "SELECT count(*) FROM GPU_GAP") != "0");
    CHECK(rows(database, R"(
      SELECT g._id_ FROM GPU_GAP AS g
      WHERE g.noCallTime IS NOT (SELECT coalesce(sum(ns), 0) FROM piece WHERE gap = g._id_ AND cbid IS NULL)
         OR coalesce(g.hostTime, 0) IS NOT coalesce((SELECT sum(ns) FROM piece
              WHERE gap = g._id_ AND cbid NOT NULL GROUP BY cbid ORDER BY 1 DESC LIMIT 1), 0)
         OR g.hostTime IS NOT (SELECT sum(ns) FROM piece WHERE gap = g._id_ AND cbid =
              (SELECT cbid FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = g.hostCall)))")
              .empty());
    split +=
        std::stoll(rows(database, "SELECT count(*) FROM GPU_GAP WHERE hostTime < stop - start"));
    in_none += std::stoll(rows(database, "SELECT count(*) FROM GPU_GAP WHERE noCallTime > 0"));
  }
  CHECK(split > 20);
  CHECK(in_none > 20);
}

// Of one process and device, against each us.
TEST_CASE("derive: idle time is that of launches, other calls, or none") {
  constexpr int us = 1000;
  std::mt19937 random(33);
  const auto below = [&](int limit) { return static_cast<int>(random() % limit); };
  struct Call {
    int begin, end;
    bool launches;
  };
  std::map<std::string, int> all;
  for (int turn = 0; turn < 40; ++turn) {
    std::string sql;
    std::vector<Call> calls;
    std::vector<std::pair<int, int>> works;  // begin, and number of its call
    for (int i = 0, begin = 1, work = 0; i < 12; ++i) {
      begin += 1 + below(i % 3 ? 30 : 90);
      calls.push_back({begin, begin + 1 + below(40), below(3) > 0});
      // Each begins at a time of its own, so that which one counts is plain.
      sql += call(i + 1, i % 2, begin * us + i, calls.back().end * us);
      if (!calls.back().launches) continue;
      work = std::max(work + 3, begin + 2 + below(120));
      works.emplace_back(work, i);
      sql += kernel(i + 1, work * us, (work + 1) * us, i % 3);
    }
    if (works.size() < 2) continue;
    Database database = profile(sql);
    derive_all(database);
    std::map<std::string, std::int64_t> expected;
    for (std::size_t i = 0; i + 1 < works.size(); ++i) {
      const Call& own = calls[static_cast<std::size_t>(works[i + 1].second)];
      for (int now = works[i].first + 1; now < works[i + 1].first; ++now) {
        const Call *open = nullptr, *next = nullptr;
        int launched_until = -100;
        for (const Call& each : calls) {
          if (!open && each.begin <= now && each.end > now) open = &each;
          if (!each.launches) continue;
          if (each.begin <= now) launched_until = std::max(launched_until, each.end);
          if (!next && each.begin > now) next = &each;
        }
        const std::string what = now >= own.end + 10 ? "queued"
                                 : now >= own.begin  ? "launch"
                                 : open              ? open->launches ? "launch" : "call"
                                 : next && next->begin - launched_until < 50 ? "launch"
                                                                             : "no call";
        expected[what] += us;
        ++all[what];
      }
    }
    std::string text;
    for (const auto& [what, time] : expected) {
      text += (text.empty() ? "" : " ") + what + "|" + std::to_string(time);
    }
    // Calls begin up to 12 ns later than here.
    CHECK(rows(database,
               "SELECT class, 1000 * ((sum(duration) + 500) / 1000) FROM DEVICE_ACCOUNT "
               "WHERE class IN ('queued', 'launch', 'call', 'no call') GROUP BY 1 "
               "HAVING sum(duration) >= 500") == text);
    CHECK(rows(database,
               "SELECT count(*) FROM GPU_GAP WHERE launchTime + queuedTime + noCallTime > "
               "stop - start") == "0");
  }
  for (const char* what : {"queued", "launch", "call", "no call"}) CHECK(all[what] > 100);
}

TEST_CASE("derive: gaps beyond the longest are divided by their launches alone") {
  Database database = profile(
      call(1, 10, 900'000, 905'000) + kernel(1, 1'000'000, 1'100'000) +
      // Not close to the launch before it; 10 us before its call, and 5 after it could have begun.
      call(2, 10, 1'110'000, 1'115'000) + kernel(2, 1'130'000, 1'140'000) +
      // Close; what the host is in meanwhile does not matter.
      call(9, 10, 1'142'000, 1'144'000, 165) + call(3, 10, 1'155'000, 1'158'000) +
      kernel(3, 1'160'000, 1'170'000) +
      // The host waits for it: that is no launch.
      call(4, 10, 1'165'000, 1'200'000) + copy(4, 1'180'000, 1'190'000) +
      kernel(5, 1'195'000, 1'200'000) +
      "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET srcKind = 1, dstKind = 3;"
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
      "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, \"end\", deviceId, contextId, "
      "streamId, correlationId, name, processId) "
      "SELECT 1200000 + 200000 * i, 1300000 + 200000 * i, 0, 1, 1, 0, 3, 7 FROM n;");
  derive_all(database);
  CHECK(rows(database,
             "SELECT class, domain, cause, duration, intervals FROM DEVICE_ACCOUNT "
             "WHERE class NOT IN ('before', 'compute', 'copy')") ==
        "launch||0|15000|1 launch|runtime|211|20000|2 no call||0|1000100000|10000 "
        "queued||0|5000|1 short gap||0|25000|3");
}

TEST_CASE("derive: work that a stream launched waits for the event of another stream") {
  const std::string sql = call(1, 10, 100, 200) + call(2, 10, 300, 400) + call(4, 10, 500, 600) +
                          kernel(1, 50'000, 100'000, 1) + kernel(2, 50'000, 60'000, 2) +
                          kernel(4, 130'000, 140'000, 2);
  const auto queued = [&](int wait, int stream) {
    Database database =
        profile(sql +
                "INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(type, correlationId, contextId, "
                "streamId, processId, start, \"end\") VALUES(2, " +
                std::to_string(wait) + ", 1, " + std::to_string(stream) + ", 7, 450, 460);");
    derive_all(database);
    return rows(database, "SELECT cause, duration_ms * 1e6 FROM account WHERE class = 'queued'");
  };
  CHECK(queued(3, 2) == "cudaStreamWaitEvent|30000.0");
  CHECK(queued(3, 1) == "-|30000.0");
  CHECK(queued(5, 2) == "-|30000.0");  // asked for after the work
}

TEST_CASE("derive: where no call was recorded nobody knows what the host was in") {
  Database database = profile(kernel(1, 100, 200) + kernel(2, 300, 400));
  derive_all(database);
  CHECK(rows(database, "SELECT host_call, host_call_ns, no_call_ns FROM gpu_gaps") == "-|-|-");
}

TEST_CASE("correlation ids: those that were added are there, whatever was asked before") {
  std::mt19937_64 random(1);
  compute::CorrelationSet ids;
  std::set<std::int64_t> expected;
  const std::vector<std::int64_t> processes{-1, 0, 7, 8};
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t process = processes[random() % processes.size()];
    const std::int64_t id = (process << 32) + static_cast<std::int64_t>(random() % 20'000) - 100;
    REQUIRE(ids.contains(id) == expected.contains(id));
    if (random() % 8 != 0) continue;
    ids.add(id);
    expected.insert(id);
    REQUIRE(ids.contains(id));
  }
}

TEST_CASE("nearly sorted: in order as long as none is too far from its place") {
  std::mt19937 random(1);
  const auto sorted = [](const std::vector<int>& items, std::size_t most, std::vector<int>& out) {
    compute::NearlySorted<int> nearly(most);
    const auto put = [&](int item) { out.push_back(item); };
    for (const int item : items) nearly.add(item, put);
    return nearly.finish(put);
  };
  std::vector<int> items(10'000), out;
  for (int i = 0; i < 10'000; ++i) items[static_cast<std::size_t>(i)] = i;
  for (std::size_t first = 0; first < items.size(); first += 50) {
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
    std::shuffle(begin, begin + 50, random);
  }
  CHECK(sorted(items, 100, out));
  CHECK(std::ranges::is_sorted(out));
  CHECK(out.size() == items.size());
  out.clear();
  std::swap(items[100], items[9000]);
  CHECK_FALSE(sorted(items, 100, out));
  CHECK(std::ranges::is_sorted(out));
  out.clear();
  CHECK(sorted(items, 20'000, out));
  CHECK(out.size() == items.size());
  CHECK(std::ranges::is_sorted(out));
}

TEST_CASE("sorting mixed runs: stable, whatever their number") {
  struct Item {
    int key = 0, place = 0;
    bool operator<(const Item& other) const { return key < other.key; }
  };
  std::mt19937 random(2);
  for (int runs = 0; runs < 40; ++runs) {
    for (const int count : {0, 1, 2, 300}) {
      // Each run ascends, with equal keys within and between them; runs take turns at random.
      std::vector<int> latest(static_cast<std::size_t>(runs) + 1);
      std::vector<Item> items;
      for (int i = 0; i < count; ++i) {
        int& key = latest[random() % latest.size()];
        key += static_cast<int>(random() % 3);
        items.push_back({key, i});
      }
      std::vector<Item> expected = items;
      std::ranges::stable_sort(expected, {}, &Item::key);
      compute::sort_runs(std::span(items));
      CHECK(std::ranges::equal(items, expected, [](const Item& a, const Item& b) {
        return a.key == b.key && a.place == b.place;
      }));
    }
  }
  // Descending: each is a run.
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[static_cast<std::size_t>(i)] = -i;
  compute::sort_runs(std::span(all));
  CHECK(std::ranges::is_sorted(all));
}

TEST_CASE("derive: the same out of the file's pages as through SQLite, in whatever order") {
  // Two processes whose rows take turns, and work that lies far from its place.
  std::string sql = range(1, 10, 100, "9000000", 0, 1);
  sql += "INSERT INTO CUPTI_ACTIVITY_KIND_MARKER(timestamp, id) VALUES(5, 1), (3, 1), ('x', 2);";
  Database in_memory = profile(sql);
  TemporaryFolder folder;
  Database in_file(folder / "file.sqlite", Database::Mode::create);
  store::make_empty_profile(in_file, false);
  in_file.execute("INSERT INTO RUN VALUES('filler', zeroblob(5000000))");
  REQUIRE_FALSE(store::is_small(in_file));  // else SQLite does it here, too
  in_file.execute(
      "INSERT INTO StringTable(_id_, value) VALUES(1, 'outer'), (2, 'inner'), (3, 'add'), "
      "(4, 'copy thread');" +
      sql);
  for (Database* database : {&in_memory, &in_file}) {
    database->execute(
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, \"end\", processId, threadId, "
        "correlationId, cbid) "
        "SELECT 200 + 10 * i, 205 + 10 * i, 7, 10 + i % 3, i + (i % 2 << 32), 211 FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999) "
        "INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, \"end\", deviceId, contextId, "
        "streamId, processId, correlationId, name) "
        "SELECT 300 + 10 * (i * 7 % 3000), 306 + 10 * (i * 7 % 3000), i % 2, 1, i % 4, 7, "
        "i + (i % 2 << 32), 3 FROM n;");
    CHECK(compute::compute(*database, {.indexes = schema::indexes}).empty());
  }
  CHECK(rows(in_file, "PRAGMA integrity_check") == "ok");
  for (const std::string table :
       {"LAUNCH_RANGE", "RANGE_TIME", "DEVICE_TIME", "STREAM_TIME", "GPU_GAP", "NVTX_PATH"}) {
    INFO(table);
    CHECK_FALSE(rows(in_file, "SELECT * FROM " + table).empty());
    CHECK(rows(in_file, "SELECT * FROM " + table) == rows(in_memory, "SELECT * FROM " + table));
  }
  const std::string made = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY name";
  CHECK(rows(in_file, made) == rows(in_memory, made));
  CHECK(rows(in_file, "SELECT count(*) FROM sqlite_master WHERE name LIKE 'INDEX_CUPTI%'") == "3");
}
