// Frames in, rows out: the one writer of a session's database.
//
// Belongs to one thread. Needs neither CUPTI nor, for the tables a stream defines, the schema: a
// stream recorded by a newer gpuprof brings its tables and columns along.
//
// What a frame says is checked before it is believed. A bad one is counted and left out; a stream
// that makes no sense, or that SQLite does not take, ends there, which is told and counted, and all
// others go on. gpuprof::Error is thrown for what concerns the database as a whole: it cannot be
// written. What was committed stays.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/code_functions.hpp"
#include "libprof/store/counts.hpp"
#include "libprof/store/diagnostic_writer.hpp"
#include "libprof/store/fact_writer.hpp"
#include "libprof/store/metric_writer.hpp"
#include "libprof/store/object_names.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/pc_sample_writer.hpp"
#include "libprof/store/process_writer.hpp"
#include "libprof/store/run_writer.hpp"
#include "libprof/store/sass_metric_writer.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/store/stream_tables.hpp"
#include "libprof/store/string_writer.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

struct LoaderOptions {
  // Others read the file while it grows (write-ahead log); off is a little faster.
  bool live = true;
  bool indexes = true;  // nvprof's are made at the end
  // See Database::when_locked(); empty: another process's lock is waited for 10 s.
  std::function<bool(int times)> when_locked = {};
  // Something to tell the user about a process. May be empty.
  std::function<void(std::int64_t process_id, const std::string& text)> message = {};
  // Asked during finish(); true: what can be left out is. May be empty.
  std::function<bool()> hurried = {};
  // Computes what follows from all that was loaded, and makes the indexes, at the end and outside a
  // transaction. Gives back what there was no room for. May be ended by `hurried` with a
  // DatabaseError (interrupted). Empty: only indexes are made.
  std::function<std::string(Database&)> derive = {};
  // Told what is being done during finish(), and told again while it lasts. May be empty.
  std::function<void(std::string_view what)> progress = {};
  std::size_t string_cache_bytes = StringCache::default_budget;
  ObjectNames object_names = {};  // given at the end
};

class Loader {
 public:
  // Loads into an empty profile, or makes an empty database one.
  Loader(Database database, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  void load(const wire::Frame& frame);
  // Nothing more of this stream is loaded, because of `why`.
  void refuse(std::uint32_t stream, const std::string& why);
  // Makes what was loaded so far visible to other processes, and readable names that have come
  // since. To be called now and then, also when nothing was loaded.
  void commit();
  // Pairs NVTX ranges, leaves an ordinary file and has the rest computed. Nothing can be loaded
  // afterwards. In a hurry it leaves that, and the file says so.
  void finish();
  // After finish(), when that has left an ordinary file: closes the file, and goes on with the one
  // that `move` opens.
  void move(const std::function<Database()>& move);

  // Counted by the launcher and not by a process.
  void count(schema::StatisticName statistic, std::uint64_t value) {
    counts_.set_own(statistic, value);
  }
  // What the launcher has to say of what it counted.
  void explain(schema::StatisticName statistic, std::string_view text);

  const LoadTotals& totals() const { return counts_.totals(); }
  // After finish(): another process has the file open, so its log stands beside it for now.
  bool still_open() const { return still_open_; }
  Database& database() { return database_; }

 private:
  struct Process;  // what is known of a stream
  struct Stream;   // of it, what is needed only while it lasts

  // Begins a transaction unless one is open. The one moment at which another process's lock is
  // waited for: behind it nothing of a frame can fail because of that.
  void begin();
  // Null: there are more streams than may be.
  Process* process(std::uint32_t stream, bool sampler = false);
  void load_of_run(const wire::Frame& frame);
  void load_of_stream(Process& process, const wire::Frame& frame);
  void load_run(const wire::Frame& frame);
  void load_hello(Process& process, const wire::Frame& frame);
  void load_info(Process& process, const wire::Frame& frame);
  void load_table(Process& process, const wire::Frame& frame);
  void load_batch(Process& process, std::span<const std::byte> payload);
  void load_batch_part(Process& process, const wire::Frame& frame);
  void load_strings(Process& process, const wire::Block& block);
  void load_rows(Process& process, const wire::Block& block, std::uint32_t flags);
  void load_own_rows(Process& process, const wire::Frame& frame);
  void end_batch(Process& process);
  static bool fits(const StreamTables::Writer& writer, const wire::Block& block);
  // How many of them are there now.
  std::size_t insert(Process& process, StreamTables::Writer& writer, const wire::Block& block);
  void load_statistics(Process& process, const wire::Frame& frame);
  void load_stream_end(Process& process, const wire::Frame& frame);
  void refuse(Process& process, const std::string& why);
  void end_stream(Process& process);

  void tell(std::string_view what);
  // False: there was no time for what it does. Then the file is as it was before.
  bool unless_hurried(const std::function<void()>& work);
  void pair_ranges();
  void wait_for_readable_names();
  // Makes an ordinary file of one with a log. False: another process has it open for so long.
  bool leave_log(std::chrono::milliseconds patience);
  void derive();
  bool hurried() const { return options_.hurried && options_.hurried(); }
  // Null: left out, and counted.
  StreamTables::Writer* writer_for(Process& process, const wire::Block& block);
  void store_readable_names();
  // Adds to a statistic of the process; `kind` is a table or empty.
  void count(const Process& process, schema::StatisticName statistic, std::uint64_t more = 1,
             std::string_view kind = {});
  std::int64_t next_number();

  Database database_;
  LoaderOptions options_;
  bool in_transaction_ = false;
  bool still_open_ = false;
  std::string_view doing_;  // during finish()
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;
  std::unique_ptr<StreamTables> tables_;
  StreamTables::Share own_share_;  // of rows that the launcher makes
  std::int64_t last_number_ = -1;
  std::uint64_t before_zero_ = UINT64_MAX;  // the run's earliest time, less 1
  std::size_t parts_bytes_ = 0;             // of batches in parts, of all streams
  Counts counts_;
  DiagnosticWriter diagnostics_;
  FactWriter facts_;
  ProcessWriter process_rows_;
  RunWriter run_;
  std::unique_ptr<StringWriter> strings_;
  std::unique_ptr<MetricWriter> metrics_;
  std::unique_ptr<CodeFunctions> functions_;
  std::unique_ptr<PcSampleWriter> pc_samples_;
  std::unique_ptr<SassMetricWriter> sass_metrics_;
};

}  // namespace gpuprof::store
