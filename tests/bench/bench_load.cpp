// How fast rows get into SQLite: gpuprof's loader, compared with plain bind and step into nvprof's
// tables.
//
//   bench_load generate FILE RECORDS    writes a capture of that many mixed records
//   bench_load measure FOLDER ROWS ROUNDS [loader|plain|ring KIND]
//       both ways in turn, ROUNDS times, in databases in FOLDER; with a way and a KIND (kernel,
//       api, mixed) only that one, for a profiler. ring: the loader with --keep-last 100MB
//
// Times are the thread's CPU time, system calls included, because other work on the machine then
// counts less; wall time is printed next to it.
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/store/loader.hpp"
#include "libprof/wire/capture.hpp"
#include "libprof/wire/messages.hpp"
#include "schema/activity/all.hpp"
#include "schema/database.hpp"

using namespace gpuprof;

namespace {

constexpr std::uint32_t process_id = 4711;
constexpr std::size_t batch_bytes = 1 << 20;  // of CUPTI's records; rows are a little smaller
constexpr auto commit_interval = std::chrono::milliseconds(250);

const schema::Table& table_of(int kind) { return *schema::find_kind(kind)->table; }

// A launch every 5 us: a kernel, a runtime call and a driver call, and now and then the rest.
struct Launch {
  std::uint64_t time;
  std::uint32_t correlation;
  std::uint32_t ordinal;
};

std::uint64_t value_of(int kind, std::string_view column, const Launch& launch) {
  const std::uint32_t n = launch.ordinal;
  const bool host = kind == schema::Driver::info.id || kind == schema::Runtime::info.id;
  const std::uint64_t start = launch.time + (host ? 0 : 4000) + n % 97;
  if (column == "start" || column == "timestamp") return start;
  if (column == "end") return start + 1500 + n % 5000;
  if (column == "completed") return start + 1500 + n % 5000;
  if (column == "correlationId") return launch.correlation;
  if (column == "name") return 1 + n % 40;
  if (column == "cbid") return kind == schema::Runtime::info.id ? 211 : 307;
  if (column == "processId") return process_id;
  if (column == "threadId") return 139'837'000;
  if (column == "contextId") return 1;
  if (column == "streamId") return 7 + n % 4;
  if (column == "gridX") return 1 + n % 4096;
  if (column == "blockX") return 256;
  if (column.starts_with("grid") && column != "gridId") return 1;
  if (column.starts_with("block")) return 1;
  if (column == "gridId") return n;
  if (column == "registersPerThread") return 32 + n % 64;
  if (column == "dynamicSharedMemory") return n % 3 ? 0 : 49152;
  if (column == "sharedMemoryExecuted") return 32768;
  if (column == "localMemoryTotal" || column == "localMemoryTotal_v2") return 56'098'816;
  if (column == "channelID") return 8;
  if (column == "channelType") return 1;
  if (column == "bytes") return 4096u << n % 8;
  if (column == "copyKind") return 1;
  if (column == "srcKind") return 2;
  if (column == "dstKind") return 3;
  // Markers come at every tenth launch: a range is opened, and closed ten launches later.
  if (column == "id") return n - n % 20;
  if (column == "flags") return n % 20 == 0 ? 2 : 4;
  if (column == "objectKind") return 2;
  if (column == "type") return 3;
  return 0;
}

void add_row(std::vector<std::byte>& rows, int kind, const Launch& launch) {
  for (const schema::Column& column : table_of(kind).columns) {
    const std::size_t at = rows.size();
    rows.resize(at + column.width);
    if (column.type == schema::Type::blob) continue;
    const std::uint64_t value = value_of(kind, column.name, launch);
    std::memcpy(rows.data() + at, &value, column.width);
  }
}

wire::Frame frame_of(wire::FrameType type, const wire::Encoder& payload) {
  return wire::make_frame(type, 0, payload.bytes());
}

// Blocks of one batch, by kind.
class Batches {
 public:
  explicit Batches(std::function<void(wire::Frame)> take) : take_(std::move(take)) {
    wire::Fields fields;
    fields.set("process_id", std::int64_t{process_id});
    wire::Encoder hello;
    hello.integer(wire::version).fields(fields);
    take_(frame_of(wire::FrameType::hello, hello));
    for (const schema::KindRef& kind : schema::kinds) {
      wire::WireTable table{static_cast<std::uint32_t>(kind.info->id),
                            std::string(kind.info->table),
                            std::string(kind.info->doc),
                            {}};
      for (const schema::Column& column : kind.table->columns) {
        table.columns.push_back({std::string(column.name), column.type, column.role, column.width,
                                 true, schema::written_doc(column)});
      }
      wire::Encoder definition;
      encode(definition, table);
      take_(frame_of(wire::FrameType::table, definition));
    }
    for (std::uint32_t id = 1; id <= 40; ++id) {
      const std::string text =
          "_Z" + std::to_string(9 + (id > 9)) + "kernel_no" + std::to_string(id) + "PKfPfi";
      strings_.integer(id).text(text);
    }
    string_count_ = 40;
  }

  void add(int kind, const Launch& launch) {
    Rows& rows = rows_[static_cast<std::size_t>(kind)];
    const std::size_t before = rows.bytes.size();
    add_row(rows.bytes, kind, launch);
    ++rows.count;
    ++records_;
    filled_ += rows.bytes.size() - before;
    if (filled_ >= batch_bytes) flush();
  }

  void flush() {
    wire::Encoder body;
    std::uint32_t blocks = 0;
    const auto add_block = [&](std::uint32_t table, std::uint32_t count,
                               std::span<const std::byte> bytes) {
      if (count == 0) return;
      body.integer(wire::BlockHeader{table, count, bytes.size()});
      body.raw(bytes);
      ++blocks;
    };
    add_block(wire::string_block, string_count_, strings_.bytes());
    for (std::size_t kind = 0; kind < std::size(rows_); ++kind) {
      add_block(static_cast<std::uint32_t>(kind), rows_[kind].count, rows_[kind].bytes);
      rows_[kind] = {};
    }
    wire::Encoder batch;
    batch.integer(wire::BatchHeader{wire::no_slot, 0, blocks, 0});
    batch.raw(body.bytes());
    take_(frame_of(wire::FrameType::batch, batch));
    strings_ = {};
    string_count_ = 0;
    filled_ = 0;
  }

  std::uint64_t records() const { return records_; }

 private:
  struct Rows {
    std::uint32_t count = 0;
    std::vector<std::byte> bytes;
  };
  std::function<void(wire::Frame)> take_;
  wire::Encoder strings_;
  std::uint32_t string_count_ = 0;
  Rows rows_[128];
  std::size_t filled_ = 0;
  std::uint64_t records_ = 0;
};

enum class Kind { kernel, api, mixed };

void make_records(Batches& batches, Kind kind, std::uint64_t records) {
  Launch launch{1'700'000'000'000'000'000, 1, 0};
  for (; batches.records() < records; ++launch.ordinal, ++launch.correlation, launch.time += 5000) {
    if (kind != Kind::kernel) {
      batches.add(schema::Runtime::info.id, launch);
      batches.add(schema::Driver::info.id, launch);
    }
    if (kind != Kind::api) batches.add(schema::ConcurrentKernel::info.id, launch);
    if (kind != Kind::mixed) continue;
    if (launch.ordinal % 20 == 0) batches.add(schema::Memcpy::info.id, launch);
    if (launch.ordinal % 50 == 0) batches.add(schema::Synchronization::info.id, launch);
    if (launch.ordinal % 10 == 0) batches.add(schema::Marker::info.id, launch);
  }
  batches.flush();
}

std::vector<wire::Frame> frames_in_memory(Kind kind, std::uint64_t records) {
  std::vector<wire::Frame> frames;
  Batches batches([&](wire::Frame frame) { frames.push_back(std::move(frame)); });
  make_records(batches, kind, records);
  return frames;
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Time {
  double cpu = 0;
  double wall = 0;
};

class Watch {
 public:
  Time read() const {
    return {seconds(CLOCK_THREAD_CPUTIME_ID) - cpu_, seconds(CLOCK_MONOTONIC) - wall_};
  }

 private:
  double cpu_ = seconds(CLOCK_THREAD_CPUTIME_ID);
  double wall_ = seconds(CLOCK_MONOTONIC);
};

struct Result {
  Time load;
  Time finish;
};

void remove_database(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) unlink((path + suffix).c_str());
}

Result by_loader(const std::string& path, const std::vector<wire::Frame>& frames,
                 std::uint64_t keep_bytes = 0) {
  remove_database(path);
  store::Loader loader(store::Database(path, store::Database::Mode::create),
                       {.keep_last = {.time = {}, .bytes = keep_bytes}});
  Result result;
  {
    const Watch watch;
    auto last_commit = std::chrono::steady_clock::now();
    for (const wire::Frame& frame : frames) {
      loader.load(frame);
      if (std::chrono::steady_clock::now() - last_commit >= commit_interval) {
        loader.commit();
        last_commit = std::chrono::steady_clock::now();
      }
    }
    loader.commit();
    result.load = watch.read();
  }
  const Watch watch;
  loader.finish();
  result.finish = watch.read();
  return result;
}

void check(sqlite3* database, int result) {
  if (result == SQLITE_OK || result == SQLITE_DONE) return;
  std::fprintf(stderr, "bench_load: %s\n", sqlite3_errmsg(database));
  std::exit(1);
}

// What one writes first: nvprof's tables, a parameter per column, a step per row.
Result by_plain(const std::string& path, const std::vector<wire::Frame>& frames) {
  remove_database(path);
  sqlite3* database = nullptr;
  check(database, sqlite3_open(path.c_str(), &database));
  const auto execute = [&](const std::string& sql) {
    check(database, sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr));
  };
  for (const char* pragma :
       {"page_size = 4096", "journal_mode = WAL", "synchronous = OFF", "cache_size = -65536",
        "wal_autocheckpoint = 4000", "temp_store = MEMORY"}) {
    execute(std::string("PRAGMA ") + pragma);
  }
  struct Writer {
    sqlite3_stmt* insert = nullptr;
    std::span<const schema::Column> columns;
    bool adds_process = false;
  };
  Writer writers[128];
  for (const schema::KindRef& kind : schema::kinds) {
    const schema::Table& table = *kind.table;
    Writer& writer = writers[kind.info->id];
    writer.columns = table.columns;
    writer.adds_process = !schema::has_column(table, schema::process_column);
    std::string create =
        "CREATE TABLE " + std::string(table.name) + "(_id_ INTEGER PRIMARY KEY AUTOINCREMENT";
    std::string insert = "INSERT INTO " + std::string(table.name) + "(";
    std::string places;
    const auto add = [&](std::string_view name, std::string_view type) {
      create += ", " + schema::sql_name(name) + " " + std::string(type) + " NOT NULL";
      insert += (places.empty() ? "" : ", ") + schema::sql_name(name);
      places += places.empty() ? "?" : ", ?";
    };
    for (const schema::Column& column : table.columns) {
      add(column.name, schema::sql_type(column.type));
    }
    if (writer.adds_process) add(schema::process_column, "INT");
    execute(create + ")");
    insert += ") VALUES(" + places + ")";
    check(database, sqlite3_prepare_v2(database, insert.c_str(), -1, &writer.insert, nullptr));
  }

  const auto bind = [](sqlite3_stmt* insert, int index, const schema::Column& column,
                       const std::byte* at) {
    using schema::Type;
    switch (column.type) {
      case Type::i8: sqlite3_bind_int64(insert, index, wire::load<std::int8_t>(at)); break;
      case Type::u8: sqlite3_bind_int64(insert, index, wire::load<std::uint8_t>(at)); break;
      case Type::i16: sqlite3_bind_int64(insert, index, wire::load<std::int16_t>(at)); break;
      case Type::u16: sqlite3_bind_int64(insert, index, wire::load<std::uint16_t>(at)); break;
      case Type::i32: sqlite3_bind_int64(insert, index, wire::load<std::int32_t>(at)); break;
      case Type::u32:
      case Type::string:
      case Type::bytes: sqlite3_bind_int64(insert, index, wire::load<std::uint32_t>(at)); break;
      case Type::i64:
      case Type::u64: sqlite3_bind_int64(insert, index, wire::load<std::int64_t>(at)); break;
      case Type::f64: sqlite3_bind_double(insert, index, wire::load<double>(at)); break;
      case Type::blob: sqlite3_bind_blob(insert, index, at, column.width, SQLITE_STATIC); break;
      case Type::text:
      case Type::integer:
      case Type::any: break;  // packed rows have none of these
    }
  };

  Result result;
  const Watch watch;
  execute("BEGIN");
  auto last_commit = std::chrono::steady_clock::now();
  for (const wire::Frame& frame : frames) {
    if (frame.type != wire::FrameType::batch) continue;
    const wire::Batch batch = wire::decode_batch(frame.payload()).value();
    for (const wire::Block& block : batch.blocks) {
      if (block.table == wire::string_block) continue;
      const Writer& writer = writers[block.table];
      const std::byte* at = block.bytes.data();
      for (std::uint32_t row = 0; row < block.rows; ++row) {
        int index = 0;
        for (const schema::Column& column : writer.columns) {
          bind(writer.insert, ++index, column, at);
          at += column.width;
        }
        if (writer.adds_process) sqlite3_bind_int64(writer.insert, ++index, process_id);
        check(database, sqlite3_step(writer.insert));
        sqlite3_reset(writer.insert);
      }
    }
    if (std::chrono::steady_clock::now() - last_commit >= commit_interval) {
      execute("COMMIT");
      execute("BEGIN");
      last_commit = std::chrono::steady_clock::now();
    }
  }
  execute("COMMIT");
  result.load = watch.read();
  for (const Writer& writer : writers) sqlite3_finalize(writer.insert);
  sqlite3_close(database);
  return result;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string range(const std::vector<double>& values, const char* format) {
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  char text[100];
  std::snprintf(text, sizeof text, format, median(values), *low, *high);
  return text;
}

void measure(const std::string& folder, Kind kind, const char* name, std::uint64_t rows,
             int rounds) {
  const auto frames = frames_in_memory(kind, rows);
  std::vector<double> ours, plain, ratio, finish, our_wall, plain_wall;
  const auto ns = [&](double time) { return time * 1e9 / static_cast<double>(rows); };
  for (int round = 0; round < rounds; ++round) {
    const Result a = by_loader(folder + "/loader.sqlite", frames);
    const Result b = by_plain(folder + "/plain.sqlite", frames);
    ours.push_back(ns(a.load.cpu));
    plain.push_back(ns(b.load.cpu));
    our_wall.push_back(ns(a.load.wall));
    plain_wall.push_back(ns(b.load.wall));
    finish.push_back(ns(a.finish.cpu));
    ratio.push_back(b.load.cpu / a.load.cpu);
  }
  std::printf("%-7s %-22s %-22s %-18s %6.0f %6.0f   %s\n", name,
              range(ours, "%5.0f (%.0f..%.0f)").c_str(), range(plain, "%5.0f (%.0f..%.0f)").c_str(),
              range(ratio, "%.2f (%.2f..%.2f)").c_str(), median(our_wall), median(plain_wall),
              range(finish, "%.0f (%.0f..%.0f)").c_str());
  std::fflush(stdout);
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "generate" && argc == 4) {
    wire::CaptureWriter capture(argv[2]);
    Batches batches([&](const wire::Frame& frame) { capture.write(frame); });
    make_records(batches, Kind::mixed, std::strtoull(argv[3], nullptr, 10));
    capture.close();
    return 0;
  }
  if (command == "measure" && (argc == 5 || argc == 7)) {
    const std::string folder = argv[2];
    const std::uint64_t rows = std::strtoull(argv[3], nullptr, 10);
    const int rounds = std::atoi(argv[4]);
    if (argc == 7) {
      const std::string_view name = argv[6];
      const Kind kind = name == "kernel" ? Kind::kernel : name == "api" ? Kind::api : Kind::mixed;
      const auto frames = frames_in_memory(kind, rows);
      for (int round = 0; round < rounds; ++round) {
        const std::string_view way = argv[5];
        const std::uint64_t keep_bytes = way == "ring" ? 100'000'000 : 0;
        const Result result = way == "plain"
                                  ? by_plain(folder + "/plain.sqlite", frames)
                                  : by_loader(folder + "/loader.sqlite", frames, keep_bytes);
        std::printf("%.0f ns per row, finish %.0f\n",
                    result.load.cpu * 1e9 / static_cast<double>(rows),
                    result.finish.cpu * 1e9 / static_cast<double>(rows));
      }
      return 0;
    }
    std::printf(
        "        ns of CPU per row: median (min..max) of %d rounds               wall           "
        "finish()\n"
        "rows    gpuprof                bind and step          ratio              gpuprof plain  "
        "gpuprof\n",
        rounds);
    measure(folder, Kind::kernel, "kernel", rows, rounds);
    measure(folder, Kind::api, "api", rows, rounds);
    measure(folder, Kind::mixed, "mixed", rows, rounds);
    return 0;
  }
  std::fprintf(stderr, "usage: bench_load generate FILE RECORDS | measure FOLDER ROWS ROUNDS\n");
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_load: %s\n", error.what());
    return 1;
  }
}
