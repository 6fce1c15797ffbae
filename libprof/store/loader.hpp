// Frames in, rows out: the one writer of a session's database.
//
// Belongs to one thread. Needs neither CUPTI nor, for the tables a stream defines, the schema: a
// stream recorded by a newer gpuprof brings its tables and columns along. What a frame says is
// checked before it is believed; a bad one is counted and left out. Throws gpuprof::Error when the
// database cannot be written; what was committed stays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/store/metric_writer.hpp"
#include "libprof/store/packed_rows.hpp"
#include "libprof/store/readable_names.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/wire/frame.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::store {

struct LoaderOptions {
  // Others read the file while it grows (write-ahead log); off is a little faster.
  bool live = true;
  bool indexes = true;  // make nvprof's indexes at the end
  // See Database::when_locked(); empty: another process's lock is waited for 10 s.
  std::function<bool(int times)> when_locked = {};
};

struct LoadTotals {
  std::uint64_t records = 0;
  std::uint64_t missing = 0;        // known to have been lost; blocks count as one
  std::uint64_t without_times = 0;  // there, but not to be summed up
  std::size_t processes = 0;
  std::size_t not_profiled = 0;  // of these, those where collecting failed
  std::size_t uncounted = 0;     // and those that lost what nobody could count

  LoadTotals& operator+=(const LoadTotals& other);
  bool lossless() const {
    return missing == 0 && without_times == 0 && not_profiled == 0 && uncounted == 0;
  }
};

class Loader {
 public:
  // Makes the tables, views and docs in an empty database.
  Loader(Database database, LoaderOptions options);
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  void load(const wire::Frame& frame);
  // Makes what was loaded so far visible to other processes, and readable names that have come
  // since. To be called now and then, also when nothing was loaded.
  void commit();
  // Pairs NVTX ranges, makes indexes, leaves an ordinary file. Nothing can be loaded afterwards.
  void finish();

  // Counted by the launcher and not by a process.
  void count(schema::StatisticName statistic, std::uint64_t value);

  LoadTotals totals() const;
  // After finish(): another process has the file open, so its log stands beside it for now.
  bool still_open() const { return still_open_; }
  Database& database() { return database_; }

 private:
  struct Writer;   // INSERT … SELECT into one table, for one definition of it
  struct Process;  // what is known of a stream

  // Begins a transaction unless one is open. The one moment at which another process's lock is
  // waited for: behind it nothing of a frame can fail because of that.
  void begin();
  Process& process(std::uint32_t stream);
  void load_run(const wire::Frame& frame);
  void load_hello(const wire::Frame& frame);
  void load_info(Process& process, const wire::Frame& frame);
  void load_table(Process& process, const wire::Frame& frame);
  void load_batch(Process& process, const wire::Frame& frame);
  void load_api_names(const wire::Frame& frame);
  void load_clock(Process& process, const wire::Frame& frame);
  void load_statistics(Process& process, const wire::Frame& frame);
  void load_stream_end(Process& process);
  void malformed(Process& process);

  // Null for a table that cannot be made.
  Writer* writer_for(const wire::WireTable& table, std::string_view definition);
  std::int64_t string_id(std::string_view text);
  void store_readable_names();
  void set_run(std::string_view key, std::string_view value);
  void set_run(std::string_view key, std::int64_t value);
  void write_statistics();
  void write_statistic(std::int64_t process_id, std::string_view kind, std::string_view name,
                       std::uint64_t value);
  std::int64_t next_number();

  Database database_;
  LoaderOptions options_;
  bool in_transaction_ = false;
  bool still_open_ = false;
  std::map<std::string, std::unique_ptr<Writer>, std::less<>> writers_;  // by definition
  std::map<std::uint32_t, std::unique_ptr<Process>> processes_;
  std::unordered_map<std::string, std::int64_t> strings_;
  std::int64_t last_string_ = 0;
  ReadableNames readable_names_;
  std::int64_t last_number_ = -1;
  std::map<std::string, std::uint64_t, std::less<>> own_counts_;
  Statement insert_string_;
  Statement update_string_;
  Statement insert_statistic_;
  std::unique_ptr<MetricWriter> metrics_;
};

}  // namespace gpuprof::store
