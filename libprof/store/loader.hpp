// Turns frames into rows: the only writer of a session's database.
//
// Belongs to one thread. Needs neither CUPTI nor, for the tables a stream defines, the schema: a
// stream recorded by a newer gpuprof brings its own tables and columns.
//
// Frames are validated. A bad frame is counted and skipped; a stream that makes no sense, or that
// SQLite rejects, ends there, which is reported and counted, and all others go on. gpuprof::Error
// is thrown for failures of the whole database: it cannot be written. What was committed stays.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "libprof/store/code_value_writer.hpp"
#include "libprof/store/counts.hpp"
#include "libprof/store/diagnostic_writer.hpp"
#include "libprof/store/fact_writer.hpp"
#include "libprof/store/metric_writer.hpp"
#include "libprof/store/object_names.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/process_writer.hpp"
#include "libprof/store/record_ring.hpp"
#include "libprof/store/run_writer.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/store/stream_tables.hpp"
#include "libprof/store/string_writer.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

struct LoaderOptions {
  // Others read the file while it grows (write-ahead log); turning it off is a little faster.
  bool live = true;
  bool indexes = true;  // creates nvprof's indexes at the end
  // See Database::when_locked(); empty: waits up to 10 s for another process's lock.
  std::function<bool(int times)> when_locked = {};
  // Receives messages for the user about a process. May be empty.
  std::function<void(std::int64_t process_id, const std::string& text)> message = {};
  // Polled during finish(); true: everything optional is skipped. May be empty.
  std::function<bool()> hurried = {};
  // Computes derived tables from all that was loaded and creates the indexes, at the end and
  // outside a transaction. Returns what there was no room for. `hurried` may end it with a
  // DatabaseError (interrupted). Empty: only indexes are created.
  std::function<std::string(Database&)> derive = {};
  // Called with the current step of finish(), repeatedly while it lasts. May be empty.
  std::function<void(std::string_view what)> progress = {};
  std::size_t string_cache_bytes = StringCache::default_budget;
  ObjectNames object_names = {};  // assigned at the end
  KeepLast keep_last = {};
};

class Loader {
 public:
  // Loads into an empty profile, or into an empty database, which becomes one.
  Loader(Database database, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  void load(const wire::Frame& frame);
  // Loads nothing more from this stream, because of `why`.
  void refuse(std::uint32_t stream, const std::string& why);
  // Makes everything loaded so far visible to other processes, along with readable names that have
  // arrived since. Call it regularly, even if nothing was loaded.
  void commit();
  // Pairs NVTX ranges, leaves an ordinary file and has the rest computed. Nothing can be loaded
  // afterwards. In a hurry, those steps are skipped, and the file says so.
  void finish();
  // After finish() has left an ordinary file: closes it and continues with the one that `move`
  // opens.
  void move(const std::function<Database()>& move);

  // Sets a statistic counted by the launcher rather than by a process.
  void count(schema::StatisticName statistic, std::uint64_t value) {
    counts_.set_own(statistic, value);
  }
  // A message from the launcher about what it counted.
  void explain(schema::StatisticName statistic, std::string_view text);

  struct Samples {
    std::int64_t samples = 0;  // of counters
    std::int64_t gaps = 0;     // between these
    std::int64_t pc_samples = 0;
  };

  const LoadTotals& totals() const { return counts_.totals(); }
  const Samples& samples() const { return samples_; }  // after finish()
  // After finish(): another process has the file open, so its log remains next to it for now.
  bool still_open() const { return still_open_; }
  Database& database() { return database_; }

 private:
  struct Process;  // what is known about a stream
  struct Stream;   // the part that is needed only while the stream lasts

  // Begins a transaction unless one is open. The only place that waits for another process's lock:
  // after it, no part of a frame can fail because of one.
  void begin();
  // Null: too many streams.
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
  // Returns the number of rows that were inserted.
  std::size_t insert(Process& process, StreamTables::Writer& writer, const wire::Block& block);
  void load_statistics(Process& process, const wire::Frame& frame);
  void load_stream_end(Process& process, const wire::Frame& frame);
  void refuse(Process& process, const std::string& why);
  void end_stream(Process& process);

  void tell(std::string_view what);
  // Returns false if `work` ran out of time; the file is then as it was before.
  bool unless_hurried(const std::function<void()>& work);
  void pair_ranges();
  void wait_for_readable_names();
  // Folds the write-ahead log into the file. False: another process kept the file open longer than
  // `patience`.
  bool leave_log(std::chrono::milliseconds patience);
  void derive();
  void count_samples();
  bool hurried() const { return options_.hurried && options_.hurried(); }
  // Null: the block is dropped and counted.
  StreamTables::Writer* writer_for(Process& process, const wire::Block& block);
  void store_readable_names();
  // Adds to a statistic of the process; `kind` is a table or empty.
  void count(const Process& process, schema::StatisticName statistic, std::uint64_t more = 1,
             std::string_view kind = {});
  std::int64_t next_number();
  // What --keep-last lets go.
  void trim();
  // When the run's times begin; nullopt: not known.
  std::optional<std::int64_t> zero();

  Database database_;
  LoaderOptions options_;
  bool in_transaction_ = false;
  bool still_open_ = false;
  Samples samples_;
  std::string_view doing_;  // during finish()
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;
  std::unique_ptr<StreamTables> tables_;
  StreamTables::Share own_share_;  // for rows created by the launcher
  std::int64_t last_number_ = -1;
  std::uint64_t before_zero_ = UINT64_MAX;  // the run's earliest time, minus 1
  std::size_t parts_bytes_ = 0;             // of batches in parts, all streams together
  Counts counts_;
  DiagnosticWriter diagnostics_;
  FactWriter facts_;
  ProcessWriter process_rows_;
  RunWriter run_;
  std::unique_ptr<StringWriter> strings_;
  std::unique_ptr<MetricWriter> metrics_;
  std::unique_ptr<CodeValueWriter> code_values_;
  std::optional<RecordRing> ring_;  // nullopt: everything is kept
};

}  // namespace gpuprof::store
