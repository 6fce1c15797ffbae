#include <catch2/catch.hpp>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <string>

#include "libprof/report/dependency.hpp"
#include "libprof/report/report.hpp"

using gpuprof::report::Layout;
using gpuprof::report::NameStyle;
using gpuprof::report::ReportOptions;
using gpuprof::report::Unit;
using gpuprof::store::Database;

using namespace gpuprof::report::dependency;

namespace {

// A process with two contexts. Labels are letters; calls and their work join by correlation id.
struct Program {
  Timeline timeline;
  std::vector<Role> roles = std::vector<Role>(128, Role::other);

  explicit Program(std::vector<Stream> streams) {
    timeline.streams = std::move(streams);
    timeline.threads = 3;
    timeline.contexts = 2;
  }
  Program& call(char label, std::int64_t start, std::int64_t end, std::int64_t correlation,
                Role role = Role::other, std::int32_t thread = 0) {
    timeline.calls.push_back({start, end, correlation, thread, static_cast<std::uint32_t>(label)});
    roles[static_cast<std::size_t>(label)] = role;
    return *this;
  }
  Program& work(char label, std::int64_t start, std::int64_t end, std::int64_t correlation,
                std::int32_t stream = 0, Returns returns = Returns::at_once) {
    timeline.work.push_back(
        {start, end, correlation, stream, static_cast<std::uint32_t>(label), returns});
    return *this;
  }
  Program& sync(Waits kind, std::int64_t correlation, std::int32_t stream = -1,
                std::int64_t event = 0) {
    timeline.synchronizations.push_back({correlation, kind, 0, stream, event});
    return *this;
  }
  Program& record(std::int64_t correlation, std::int32_t stream, std::int64_t event) {
    timeline.events.push_back({correlation, stream, event});
    return *this;
  }
  Analysis analysis() const { return Analysis(timeline, roles); }
};

struct Times {
  std::int64_t critical = 0, waiting = 0;
};

std::map<char, Times> by_label(const Analysis& analysis) {
  std::map<char, Times> times;
  analysis.each([&](const DependencyRow& row) {
    Times& sum = times[static_cast<char>(row.label)];
    sum.critical += row.critical;
    sum.waiting += row.waiting;
  });
  return times;
}

// "A 40, S 0 waits 35, other 25", in the order of the letters.
std::string outcome(const Program& program) {
  const Analysis analysis = program.analysis();
  std::string text;
  for (const auto& [label, times] : by_label(analysis)) {
    text += std::string(1, label) + " " + std::to_string(times.critical);
    if (times.waiting > 0) text += " waits " + std::to_string(times.waiting);
    text += ", ";
  }
  return text + "other " + std::to_string(analysis.other());
}

const Stream null_stream{.context = 0, .null = true, .blocking = false};
const Stream blocking{.context = 0};
const Stream non_blocking{.context = 0, .null = false, .blocking = false};
const Stream elsewhere{.context = 1};

}  // namespace

TEST_CASE("an empty timeline has no rows") {
  const Analysis analysis = Program({}).analysis();
  CHECK(by_label(analysis).empty());
  CHECK(analysis.other() == 0);
}

TEST_CASE("calls that wait for nothing are the path, and the time between them is nobody's") {
  CHECK(outcome(Program({}).call('a', 10, 20, 1).call('b', 25, 40, 2)) == "a 10, b 15, other 5");
}

TEST_CASE("a synchronization waits while the work runs; the path leaves with the launch's begin") {
  CHECK(outcome(Program({null_stream})
                    .call('i', 0, 10, 1)
                    .call('l', 20, 30, 2)
                    .work('K', 25, 80, 2)
                    .call('s', 40, 90, 3)
                    .sync(Waits::for_stream, 3, 0)) == "K 55, i 10, l 0, s 0 waits 40, other 25");
}

TEST_CASE("a synchronization after the end of the work is on the path itself") {
  CHECK(outcome(Program({null_stream})
                    .call('l', 0, 10, 2)
                    .work('K', 5, 40, 2)
                    .call('s', 50, 60, 3)
                    .sync(Waits::for_context, 3)) == "K 0, l 10, s 10, other 40");
}

TEST_CASE("a queue of kernels is waited for as a whole, without the gaps") {
  CHECK(outcome(Program({null_stream})
                    .call('l', 1, 2, 2)
                    .call('m', 3, 4, 3)
                    .work('K', 5, 50, 2)
                    .work('L', 60, 90, 3)
                    .call('s', 20, 100, 4)
                    .sync(Waits::for_stream, 4, 0)) ==
        "K 45, L 30, l 0, m 0, s 0 waits 60, other 24");
}

TEST_CASE(
    "a kernel that began after its launch and after a pause of its stream follows the launch") {
  CHECK(outcome(Program({null_stream})
                    .call('l', 1, 2, 2)
                    .work('K', 3, 10, 2)
                    .call('m', 20, 25, 3)
                    .work('L', 30, 60, 3)
                    .call('s', 40, 70, 4)
                    .sync(Waits::for_stream, 4, 0)) ==
        "K 0, L 30, l 1, m 0, s 0 waits 20, other 38");
}

TEST_CASE("a context is waited for until its last work ends; overlaps count once") {
  Program program({null_stream, non_blocking, elsewhere});
  program.call('l', 0, 1, 1).call('m', 2, 3, 2).call('n', 4, 5, 3);
  program.work('K', 10, 60, 1, 0).work('L', 10, 90, 2, 1).work('M', 10, 200, 3, 2);
  program.call('s', 20, 100, 4).sync(Waits::for_context, 4);
  program.call('e', 300, 301, 5);
  CHECK(outcome(program) == "K 0, L 80, M 0, e 1, l 1, m 0, n 0, s 0 waits 70, other 219");
}

TEST_CASE("what another thread asks for later is not waited for") {
  CHECK(outcome(Program({null_stream, non_blocking})
                    .call('l', 0, 1, 1)
                    .work('K', 2, 30, 1, 0)
                    .call('s', 10, 40, 2)
                    .sync(Waits::for_context, 2)
                    .call('m', 20, 21, 3, Role::other, 1)
                    .work('L', 22, 35, 3, 1)) == "K 28, L 0, l 0, m 0, s 0 waits 20, other 12");
}

TEST_CASE("the null stream and blocking streams wait for one another") {
  const auto program = [](const Stream& first, const Stream& second) {
    return Program({first, second})
        .call('l', 0, 1, 1)
        .call('m', 2, 3, 2)
        .work('K', 5, 50, 1, 0)
        .work('L', 51, 90, 2, 1)
        .call('s', 10, 100, 3)
        .sync(Waits::for_stream, 3, 1);
  };
  CHECK(outcome(program(blocking, null_stream)) == "K 45, L 39, l 0, m 0, s 0 waits 79, other 16");
  CHECK(outcome(program(null_stream, blocking)) == "K 45, L 39, l 0, m 0, s 0 waits 39, other 16");
  CHECK(outcome(program(null_stream, non_blocking)) ==
        "K 0, L 39, l 1, m 0, s 0 waits 39, other 60");
  CHECK(outcome(program(blocking, blocking)) == "K 0, L 39, l 1, m 0, s 0 waits 39, other 60");
}

TEST_CASE("work after a stream's wait for an event begins after what the event stands for") {
  Program program({non_blocking, non_blocking});
  program.call('l', 0, 1, 1).work('K', 5, 50, 1, 0);
  program.call('r', 2, 3, 2).record(2, 0, 77);
  program.call('n', 4, 5, 3).work('N', 51, 95, 3, 0);  // after the event: does not matter
  program.call('w', 6, 7, 4).sync(Waits::stream_for_event, 4, 1, 77);
  program.call('m', 8, 9, 5).work('L', 52, 90, 5, 1);
  program.call('s', 10, 100, 6).sync(Waits::for_stream, 6, 1);
  CHECK(outcome(program) == "K 45, L 38, N 0, l 0, m 0, n 0, r 0, s 0 waits 38, w 0, other 17");
}

TEST_CASE("the host's wait for an event") {
  Program program({null_stream});
  program.call('l', 0, 1, 1).work('K', 5, 50, 1);
  program.call('r', 2, 3, 2).record(2, 0, 77);
  program.call('m', 4, 5, 3).work('L', 50, 90, 3);
  program.call('s', 10, 60, 4).sync(Waits::for_event, 4, -1, 77);
  program.call('e', 100, 101, 5);
  CHECK(outcome(program) == "K 45, L 0, e 1, l 0, m 0, r 0, s 0 waits 40, other 55");
}

TEST_CASE("waits for events that nobody recorded are counted") {
  Program program({null_stream});
  program.call('s', 10, 60, 4).sync(Waits::for_event, 4, -1, 77);
  CHECK(program.analysis().unknown_events() == 1);
  CHECK(outcome(program) == "s 50, other 0");
}

TEST_CASE("copies that return when the data is there") {
  const auto program = [](Role role, Returns returns, std::int64_t end) {
    return Program({null_stream})
        .call('l', 0, 1, 1)
        .work('K', 2, 40, 1)
        .call('c', 10, end, 2, role)
        .work('C', 50, 80, 2, 0, returns);
  };
  CHECK(outcome(program(Role::copy, Returns::after_it, 90)) ==
        "C 30, K 38, c 0 waits 60, l 0, other 22");
  CHECK(outcome(program(Role::copy, Returns::after_it_always, 90)) ==
        "C 30, K 38, c 0 waits 60, l 0, other 22");
  CHECK(outcome(program(Role::copy, Returns::at_once, 90)) == "C 0, K 0, c 80, l 1, other 9");
  CHECK(outcome(program(Role::async_copy, Returns::after_it, 90)) ==
        "C 0, K 0, c 80, l 1, other 9");
  CHECK(outcome(program(Role::async_copy, Returns::after_it_always, 90)) ==
        "C 30, K 38, c 0 waits 60, l 0, other 22");
  // It returned before; the memory was not what it seemed.
  CHECK(outcome(program(Role::async_copy, Returns::after_it_always, 20)) ==
        "C 30, K 38, c 0, l 0, other 12");
  CHECK(outcome(program(Role::other, Returns::after_it_always, 90)) ==
        "C 0, K 0, c 80, l 1, other 9");
}

TEST_CASE("cudaFree waits for work that ends before it does") {
  const auto program = [](std::int64_t end) {
    return Program({null_stream, elsewhere})
        .call('l', 0, 1, 1)
        .work('K', 2, 40, 1)
        .call('f', 10, end, 2, Role::frees)
        .call('e', 90, 91, 3);
  };
  CHECK(outcome(program(50)) == "K 38, e 1, f 0 waits 30, l 0, other 52");
  CHECK(outcome(program(30)) == "K 0, e 1, f 20, l 1, other 69");
}

TEST_CASE("cudaDeviceSynchronize without a record waits for the context its thread used") {
  Program program({null_stream, elsewhere});
  program.call('l', 0, 1, 1).work('K', 2, 40, 1, 0);
  program.call('m', 3, 4, 2, Role::other, 1).work('L', 5, 60, 2, 1);
  program.call('s', 10, 70, 3, Role::synchronizes_context);
  CHECK(outcome(program) == "K 38, L 0, l 0, m 0, s 0 waits 30, other 32");
}

TEST_CASE("a call made inside another is part of that one") {
  Program program({null_stream});
  program.call('a', 0, 100, 1).call('b', 10, 20, 2).call('c', 30, 90, 3);
  program.work('K', 40, 120, 3);
  program.call('s', 110, 130, 4).sync(Waits::for_context, 4);
  CHECK(outcome(program) == "K 80, a 0, b 0, c 0, s 0 waits 10, other 50");
}

TEST_CASE("the first call of a thread follows the call that began before it") {
  CHECK(outcome(Program({})
                    .call('a', 0, 10, 1)
                    .call('b', 30, 50, 2, Role::other, 1)
                    .call('c', 60, 90, 3, Role::other, 1)) == "a 10, b 20, c 30, other 30");
  // One that was not over does not count, its thread does.
  CHECK(outcome(Program({})
                    .call('a', 0, 10, 1)
                    .call('d', 20, 80, 4)
                    .call('c', 60, 90, 3, Role::other, 1)) == "a 10, c 30, d 0, other 50");
}

TEST_CASE("work without a call is waited for, and follows what its stream did or the last call") {
  Program program({null_stream});
  program.call('a', 0, 10, 1);
  program.work('K', 20, 50, 0).work('L', 55, 90, 99);
  program.call('s', 60, 100, 2).sync(Waits::for_stream, 2, 0);
  CHECK(outcome(program) == "K 30, L 35, a 10, s 0 waits 30, other 25");
}

TEST_CASE("kernels that a kernel launched come after it, and the last one is waited for") {
  Program program({null_stream});
  program.call('l', 0, 1, 1).work('K', 2, 40, 1);
  program.work('N', 30, 80, 1);
  program.timeline.work.back().nested = true;
  program.call('s', 10, 90, 2).sync(Waits::for_context, 2);
  CHECK(outcome(program) == "K 28, N 50, l 0, s 0 waits 70, other 12");
}

TEST_CASE("a path that ends on the GPU begins there") {
  CHECK(outcome(Program({null_stream}).call('l', 0, 10, 1).work('K', 5, 40, 1)) ==
        "K 35, l 0, other 5");
}

TEST_CASE("whatever the records say, the path is no longer than the run and waits are in calls") {
  std::mt19937 random(7);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  for (int round = 0; round < 3000; ++round) {
    Program program({null_stream, blocking, non_blocking, elsewhere});
    const int length = 1 + below(200);
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 0;
    const auto span = [&] {
      const std::int64_t start = 1 + below(length), end = start + below(1 + length / 4);
      first = std::min(first, start);
      last = std::max(last, end + 1);
      return std::pair(start, end);
    };
    const int calls = 1 + below(30), works = below(30);
    for (int i = 0; i < calls; ++i) {
      const auto [start, end] = span();
      const int role = below(5);
      program.call(static_cast<char>('a' + role), start, end, below(20), static_cast<Role>(role),
                   below(3));
    }
    for (int i = 0; i < works; ++i) {
      const auto [start, end] = span();
      program.work('K', start, end + 1, below(20), below(4), static_cast<Returns>(below(4)));
      program.timeline.work.back().nested = below(4) == 0;
    }
    for (int i = below(20); i > 0; --i) {
      program.sync(static_cast<Waits>(below(4)), below(20), below(5) - 1, below(3));
      program.record(below(20), below(4), below(3));
    }
    const Analysis analysis = program.analysis();
    std::int64_t path = analysis.other(), rows = 0, before = 0;
    analysis.each([&](const DependencyRow& row) {
      ++rows;
      path += row.critical;
      CHECK(row.start >= before);
      before = row.start;
      CHECK((row.critical >= 0 && row.critical <= row.end - row.start));
      CHECK((row.waiting >= 0 && row.waiting <= row.end - row.start));
    });
    CHECK(rows == calls + works);
    CHECK((path >= 0 && path <= last - first));
    CHECK(analysis.other() >= 0);
  }
}

// ---- the report

namespace {

constexpr auto tables = R"(
  CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);
  INSERT INTO StringTable VALUES(1, '_Z3addv');
  CREATE TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(
    start INT, end INT, correlationId INT, contextId INT, streamId INT, name INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL VALUES(2000, 9000, 7, 1, 7, 1);
  CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(
    start INT, end INT, correlationId INT, cbid INT, threadId INT, processId INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
    (1000, 1500, 7, 211, 5, 42), (1600, 9500, 8, 165, 5, 42);
)";
constexpr auto stream_row = R"(
  CREATE TABLE CUPTI_ACTIVITY_KIND_STREAM(contextId INT, streamId INT, flag INT);
  INSERT INTO CUPTI_ACTIVITY_KIND_STREAM VALUES(1, 7, 3);
)";

// What --dependency-analysis prints.
std::string report(const std::string& sql, ReportOptions options = {}) {
  Database database(":memory:", Database::Mode::create);
  database.execute(sql);
  options.chosen.insert("dependency-analysis");
  options.names = NameStyle::modern;
  std::ostringstream out;
  gpuprof::report::print_reports(database, out, options);
  const std::string text = out.str();
  const auto place = text.find(options.layout == Layout::json ? "{\"table\":\"dependency_analysis"
                                                              : "======== Dependency Analysis:");
  return place == std::string::npos ? text : text.substr(place);
}

}  // namespace

TEST_CASE("the analysis by function") {
  CHECK(report(std::string(tables) + stream_row) == R"(======== Dependency Analysis:
Critical path(%)  Critical path  Waiting time  Name
          82.35%     7.000000us           0ns  add()
          17.65%     1.500000us           0ns  <Other>
           0.00%            0ns    7.000000us  cudaDeviceSynchronize
           0.00%            0ns           0ns  cudaLaunchKernel_v7000
)");
  CHECK(report(std::string(tables) + stream_row, {.unit = Unit::ms}) ==
        R"(======== Dependency Analysis:
Critical path(%)  Critical path  Waiting time  Name
               %             ms            ms
           82.35  7.0000000e-03      0.000000  add()
           17.65  1.5000000e-03      0.000000  <Other>
            0.00       0.000000  7.000000e-03  cudaDeviceSynchronize
            0.00       0.000000      0.000000  cudaLaunchKernel_v7000
)");
}

TEST_CASE("the analysis of each record") {
  const std::string database = std::string(tables) + stream_row;
  ReportOptions options{.chosen = {"print-dependency-analysis-trace"}};
  CHECK(report(database, options) == R"(======== Dependency Analysis:
   Start  Duration  Critical path  Waiting time  Name
1.0000us     500ns            0ns           0ns  cudaLaunchKernel_v7000
1.6000us  7.9000us            0ns    7.000000us  cudaDeviceSynchronize
2.0000us  7.0000us     7.000000us           0ns  add()
)");
  options.layout = Layout::json;
  const std::string json = report(database, options);
  CHECK(json.starts_with(R"json({"table":"dependency_analysis_trace","rows":[
{"start_ns":1000,"duration_ns":500,"critical_path_ns":0,"waiting_time_ns":0,"name":)json"));
  CHECK(json.ends_with(R"json(
{"start_ns":2000,"duration_ns":7000,"critical_path_ns":7000,"waiting_time_ns":0,"name":"add()","relative_start_ns":1000}]}],
"warnings":[]}
)json"));
}

TEST_CASE("nvprof's files need a row for each stream, ours do not") {
  CHECK(report(tables) ==
        "======== Dependency Analysis:\n"
        "======== \n"
        "======== Error: The dependency analysis failed with an error: "
        "Streams for non-CDP activities must have prior stream record.\n");
  CHECK(report(std::string(tables) + R"(
    CREATE TABLE STATISTIC(name TEXT);
    ALTER TABLE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ADD COLUMN processId INT DEFAULT 42;
  )")
            .find("7.000000us           0ns  add()") != std::string::npos);
}

TEST_CASE("which copies, sets and releases wait, by function and kinds of memory") {
  // A kernel from 2000 to 4000, the call from 2500 to 9500, its work from 5000 to 6000.
  const auto waiting = [](int function, const std::string& work) {
    const std::string text = report(std::string(stream_row) + R"(
      CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(
        start INT, end INT, correlationId INT, contextId INT, streamId INT, name INT);
      INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(2000, 4000, 7, 1, 7, 1);
      CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(copyKind INT, srcKind INT, dstKind INT, flags INT,
        start INT, end INT, correlationId INT, contextId INT, streamId INT);
      CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(memoryKind INT, flags INT,
        start INT, end INT, correlationId INT, contextId INT, streamId INT);
      CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(
        start INT, end INT, correlationId INT, cbid INT, threadId INT, processId INT);
      INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1000, 1500, 7, 211, 5, 42),
        (2500, 9500, 8, )" + std::to_string(function) +
                                        ", 5, 42);" + work,
                                    {.layout = Layout::csv, .unit = Unit::ns});
    std::int64_t sum = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto name = line.rfind(','), time = line.rfind(',', name - 1);
      if (line.find("cuda") == std::string::npos) continue;
      sum += static_cast<std::int64_t>(std::stod(line.substr(time + 1)));
    }
    return sum;
  };
  const auto copy = [](int kind, int from, int to, int flags = 0) {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES(" + std::to_string(kind) + "," +
           std::to_string(from) + "," + std::to_string(to) + "," + std::to_string(flags) +
           ", 5000, 6000, 8, 1, 7);";
  };
  const auto set = [](int memory) {
    return "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(" + std::to_string(memory) +
           ", 0, 5000, 6000, 8, 1, 7);";
  };
  constexpr int cuda_memcpy = 31, cuda_memcpy_async = 41, cuda_memset = 49, cuda_memset_async = 51;
  constexpr int to_device = 1, to_host = 2, on_device = 8, on_host = 9, to_peer = 10;
  constexpr int pageable = 1, pinned = 2, device = 3, managed = 5;
  constexpr int nothing = 0, kernel = 1500, both = 2500;

  CHECK(waiting(cuda_memcpy, copy(to_device, pageable, device)) == nothing);
  CHECK(waiting(cuda_memcpy, copy(to_device, pinned, device)) == both);
  CHECK(waiting(cuda_memcpy, copy(to_host, device, pageable)) == both);
  CHECK(waiting(cuda_memcpy, copy(to_host, device, pinned)) == both);
  CHECK(waiting(cuda_memcpy, copy(on_device, device, device)) == nothing);
  CHECK(waiting(cuda_memcpy, copy(to_peer, device, device)) == nothing);
  CHECK(waiting(cuda_memcpy, copy(on_host, pinned, pinned)) == both);
  CHECK(waiting(cuda_memcpy_async, copy(to_device, pageable, device, 1)) == nothing);
  CHECK(waiting(cuda_memcpy_async, copy(to_device, pinned, device, 1)) == nothing);
  CHECK(waiting(cuda_memcpy_async, copy(to_host, device, pageable, 1)) == both);
  CHECK(waiting(cuda_memcpy_async, copy(to_host, device, pinned, 1)) == nothing);
  CHECK(waiting(cuda_memcpy_async, copy(on_host, pinned, pinned, 1)) == both);
  CHECK(waiting(cuda_memset, set(device)) == nothing);
  CHECK(waiting(cuda_memset, set(pinned)) == both);
  CHECK(waiting(cuda_memset, set(managed)) == both);
  CHECK(waiting(cuda_memset_async, set(managed)) == nothing);
  CHECK(waiting(22, "") == kernel);   // cudaFree
  CHECK(waiting(26, "") == kernel);   // cudaFreeHost
  CHECK(waiting(20, "") == nothing);  // cudaMalloc
  CHECK(waiting(165, "") == kernel);  // cudaDeviceSynchronize
}

TEST_CASE("a file of several processes has an analysis of each") {
  const std::string text = report(R"(
    CREATE TABLE STATISTIC(name TEXT);
    CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(
      start INT, end INT, correlationId INT, cbid INT, threadId INT, processId INT);
    INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES
      (1000, 1500, 7, 20, 5, 42), (1600, 9500, 8, 165, 5, 43), (9600, 9700, 9, 165, 6, 43);
  )");
  CHECK(text.find("======== Warning: Several threads call CUDA.") != std::string::npos);
  CHECK(text.substr(text.find("======== Process")) == R"(======== Process 42
Critical path(%)  Critical path  Waiting time  Name
         100.00%          500ns           0ns  cudaMalloc
           0.00%            0ns           0ns  <Other>
======== Process 43
Critical path(%)  Critical path  Waiting time  Name
          98.77%     8.000000us           0ns  cudaDeviceSynchronize
           1.23%          100ns           0ns  <Other>
)");
}

TEST_CASE("without API calls there is nothing to analyze") {
  CHECK(report("CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET(start INT, end INT);"
               "INSERT INTO CUPTI_ACTIVITY_KIND_MEMSET VALUES(10, 20);") ==
        "======== Dependency Analysis:\n");
}
