// The SQLite file that `nsys export` would have written for the same run, for tools that read such
// files: tables and columns as in the Nsight Systems documentation.
#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gpuprof_version.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/exchange/export/format.hpp"
#include "libprof/exchange/export/nsys_tables.hpp"
#include "libprof/names/demangle.hpp"
#include "libprof/read/profile_file.hpp"

namespace gpuprof::exporting {
namespace {

using store::Database;
using store::Statement;

// This table identifies a file as ours.
constexpr std::string_view own_table = "GPUPROF_EXPORT";

// NVTX_EVENTS.eventType.
constexpr std::int64_t nvtx_mark = 34, nvtx_push_pop = 59, nvtx_start_end = 60, nvtx_domain = 75;

class NsysWriter {
 public:
  NsysWriter(reading::Profile& profile, const FileJob& job)
      : profile_(profile),
        job_(job),
        out_(job.path, Database::Mode::create, {.shown_as = job.name}),
        zero_(profile.zero() - 1) {
    out_.execute("PRAGMA journal_mode = OFF");
    out_.execute("PRAGMA synchronous = OFF");
    out_.execute("BEGIN");
    out_.execute(nsys_tables);
    out_.prepare("INSERT INTO GPUPROF_EXPORT VALUES(?1)").bind(1, version).run();
    add_string_ = out_.prepare("INSERT INTO StringIds VALUES(?1, ?2)");
  }

  Visited write() {
    write_gpu_work();
    write_calls();
    write_ranges();
    write_facts();
    out_.execute("COMMIT");
    return visited_;
  }

 private:
  static std::int64_t global(std::int64_t process, std::int64_t thread = 0) {
    return (process & 0xffffff) << 24 | (thread & 0xffffff);
  }

  std::int64_t string(std::string_view text) {
    const auto [place, is_new] =
        strings_.try_emplace(std::string(text), static_cast<std::int64_t>(strings_.size()) + 1);
    if (is_new) add_string_.bind(1, place->second).bind(2, text).run();
    return place->second;
  }

  std::string where(std::string_view kind) {
    return "WHERE start > 0 AND [end] >= start AND " + profile_.filter(kind) + of_processes(kind);
  }
  std::string of_processes(std::string_view kind) {
    if (!job_.processes.empty() && !profile_.has_column(kind, "processId")) return " AND 0";
    if (job_.processes.empty()) return "";
    return " AND processId IN (" + joined(job_.processes, ", ") + ")";
  }

  // Selects columns and expressions; columns that the table lacks are NULL.
  Statement select(std::string_view kind, std::span<const std::string_view> columns,
                   const std::string& rest) {
    std::string sql;
    for (const std::string_view column : columns) {
      const bool expression = column.find('(') != std::string_view::npos;
      sql += sql.empty() ? "SELECT " : ", ";
      sql += expression                          ? std::string(column)
             : profile_.has_column(kind, column) ? store::quoted_name(column)
                                                 : "NULL";
    }
    return out_of_profile(sql + " FROM main." + reading::table_name(kind) + " " + rest);
  }
  Statement out_of_profile(const std::string& sql) { return profile_.database().prepare(sql); }

  // The statement's parameters begin with start, end, deviceId, contextId, streamId, correlationId
  // and globalPid; those after them are copied as they are, unless change(rows, insert) binds
  // something.
  template <class Change>
  void copy(std::string_view kind, std::initializer_list<std::string_view> columns,
            const std::string& insert_into, Change&& change) {
    if (!profile_.has_rows(kind)) return;
    std::vector<std::string_view> all{"start",    "end",           "deviceId", "contextId",
                                      "streamId", "correlationId", "processId"};
    all.insert(all.end(), columns.begin(), columns.end());
    std::string marks;
    for (std::size_t i = 0; i < all.size(); ++i) marks += (i ? ", ?" : "?") + std::to_string(i + 1);
    Statement rows = select(kind, all, where(kind));
    Statement insert = out_.prepare("INSERT INTO " + insert_into + " VALUES(" + marks + ")");
    while (rows.step()) {
      for (int i = 0; i < static_cast<int>(all.size()); ++i) insert.bind_column(i + 1, rows, i);
      insert.bind(1, time(rows.integer(0))).bind(2, time(rows.integer(1)));
      insert.bind(7, global(rows.integer(6)));
      if (!rows.is_null(5)) insert.bind(6, rows.integer(5) & 0xffffffff);
      change(rows, insert);
      insert.run();
      tick();
    }
    const std::string lost = "NOT (start > 0 AND [end] >= start)";
    visited_.without_times +=
        profile_.database()
            .integer("SELECT count(*) FROM main." + reading::table_name(kind) + " WHERE " + lost)
            .value_or(0);
  }

  std::int64_t time(std::int64_t ours) const { return saturating_subtract(ours, zero_); }

  void tick() {
    if (visited_.activities++ % 65536 == 0) profile_.progress("writing");
  }

  void write_gpu_work();
  void write_calls();
  std::int64_t domain(std::int64_t id, std::int64_t process, std::int64_t thread);
  void write_nvtx(Statement rows, bool marks);
  void write_ranges();
  void write_facts();
  void write_devices();

  reading::Profile& profile_;
  const FileJob& job_;
  Database out_;
  const std::int64_t zero_;  // added so that no time is 0
  Statement add_string_;
  std::unordered_map<std::string, std::int64_t> strings_;
  std::unordered_map<std::int64_t, std::array<std::int64_t, 3>> kernels_;  // by name
  std::map<std::pair<std::int64_t, std::string>, std::int64_t> domains_;   // by process and name
  Visited visited_;
};

void NsysWriter::write_gpu_work() {
  for (const std::string_view kind : {"KERNEL", "CONCURRENT_KERNEL"}) {
    copy(kind,
         {"name", "name", "name", "registersPerThread", "gridX", "gridY", "gridZ", "blockX",
          "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread",
          "localMemoryTotal_v2", "gridId", "sharedMemoryExecuted", "graphNodeId", "graphId"},
         "CUPTI_ACTIVITY_KIND_KERNEL", [&](const Statement& rows, Statement& insert) {
           const auto [place, is_new] = kernels_.try_emplace(rows.integer(7));
           if (is_new) {
             const std::string& name = profile_.names().kernel(place->first);
             place->second = {string(name), string(short_name(name)),
                              string(profile_.names().text(place->first))};
           }
           for (std::size_t i = 0; i < 3; ++i)
             insert.bind(8 + static_cast<int>(i), place->second[i]);
         });
  }
  const auto as_it_is = [](const Statement&, Statement&) {};
  // In CUPTI's numbering of memory kinds "unknown" is first, in Nsight's last.
  copy("MEMCPY", {"bytes", "copyKind", "(srcKind + 7) % 8", "(dstKind + 7) % 8", "graphNodeId"},
       "CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, "
       "globalPid, bytes, copyKind, srcKind, dstKind, graphNodeId)",
       as_it_is);
  copy("MEMCPY2",
       {"bytes", "copyKind", "(srcKind + 7) % 8", "(dstKind + 7) % 8", "graphNodeId", "srcDeviceId",
        "srcContextId", "dstDeviceId", "dstContextId"},
       "CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, "
       "globalPid, bytes, copyKind, srcKind, dstKind, graphNodeId, srcDeviceId, srcContextId, "
       "dstDeviceId, dstContextId)",
       as_it_is);
  copy("MEMSET", {"value", "bytes", "graphNodeId", "(memoryKind + 7) % 8"},
       "CUPTI_ACTIVITY_KIND_MEMSET", as_it_is);
  copy("GRAPH_TRACE", {"graphId"},
       "CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, contextId, streamId, correlationId, "
       "globalPid, graphExecId)",
       as_it_is);
  copy("SYNCHRONIZATION", {"type", "cudaEventId"}, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", as_it_is);
}

void NsysWriter::write_calls() {
  for (const bool runtime : {true, false}) {
    const std::string_view kind = runtime ? "RUNTIME" : "DRIVER";
    if (!profile_.has_rows(kind)) continue;
    constexpr std::array<std::string_view, 7> columns{
        "start", "end", "cbid", "processId", "threadId", "correlationId", "returnValue"};
    Statement rows = select(kind, columns, where(kind));
    Statement insert = out_.prepare(
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL)");
    std::unordered_map<std::int64_t, std::int64_t> names;  // by cbid
    while (rows.step()) {
      const auto [place, is_new] = names.try_emplace(rows.integer(2));
      if (is_new) {
        place->second = string(
            profile_.names().api(runtime ? reading::ApiDomain::runtime : reading::ApiDomain::driver,
                                 place->first, true));
      }
      insert.bind(1, time(rows.integer(0))).bind(2, time(rows.integer(1)));
      insert.bind(3, std::int64_t{runtime ? 0 : 1});
      insert.bind(4, global(rows.integer(3), rows.integer(4)));
      insert.bind_column(5, rows, 5);
      if (!rows.is_null(5)) insert.bind(5, rows.integer(5) & 0xffffffff);
      insert.bind(6, place->second).bind_column(7, rows, 6).run();
      tick();
    }
  }
}

std::int64_t NsysWriter::domain(std::int64_t id, std::int64_t process, std::int64_t thread) {
  const std::string text = profile_.names().text(id);
  if (text.empty()) return 0;
  const auto [place, is_new] =
      domains_.try_emplace({process, text}, static_cast<std::int64_t>(domains_.size()) + 1);
  if (is_new) {
    out_.prepare(
            "INSERT INTO NVTX_EVENTS(start, eventType, text, globalTid, domainId) "
            "VALUES(0, ?1, ?2, ?3, ?4)")
        .bind(1, nvtx_domain)
        .bind(2, text)
        .bind(3, global(process, thread))
        .bind(4, place->second)
        .run();
  }
  return place->second;
}

void NsysWriter::write_nvtx(Statement rows, bool marks) {
  Statement insert = out_.prepare(
      "INSERT INTO NVTX_EVENTS(start, end, eventType, textId, globalTid, domainId) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
  while (rows.step()) {
    const std::int64_t process = rows.integer(2), thread = rows.integer(3);
    const std::int64_t of_domain = domain(rows.integer(5), process, thread);
    insert.bind(1, time(rows.integer(0))).bind_null(2).bind_null(4);
    if (!rows.is_null(1)) insert.bind(2, time(rows.integer(1)));
    insert.bind(3, marks                         ? nvtx_mark
                   : rows.text(6) == "start_end" ? nvtx_start_end
                                                 : nvtx_push_pop);
    if (const std::string text = profile_.names().text(rows.integer(4)); !text.empty()) {
      insert.bind(4, string(text));
    }
    insert.bind(5, global(process, thread)).bind(6, of_domain).run();
    tick();
  }
}

void NsysWriter::write_ranges() {
  store::Database& database = profile_.database();
  const bool there = database.has_column("NVTX_RANGE", "stop");
  visited_.markers_only = !there && profile_.has_rows("MARKER");
  const auto in_window = [&](const std::string& time) {
    std::string sql = " AND " + time + " > 0";
    if (job_.window.from) sql += " AND " + time + " >= " + std::to_string(*job_.window.from);
    if (job_.window.to) sql += " AND " + time + " < " + std::to_string(*job_.window.to);
    return sql + of_processes("MARKER");
  };
  if (there) {
    write_nvtx(out_of_profile("SELECT start, stop, processId, threadId, name, domain, kind FROM "
                              "main.NVTX_RANGE WHERE (stop IS NULL OR stop >= start)" +
                              in_window("start")),
               false);
  }
  if (profile_.has_rows("MARKER") && profile_.has_column("MARKER", "threadId")) {
    write_nvtx(out_of_profile("SELECT timestamp, NULL, processId, threadId, name, domain, '' FROM "
                              "main.CUPTI_ACTIVITY_KIND_MARKER WHERE flags & 1" +
                              in_window("timestamp")),
               true);
  }
}

void NsysWriter::write_facts() {
  store::Database& database = profile_.database();
  if (database.has_table("CLOCK")) {
    if (const auto ahead = database.integer(
            "SELECT realtime - cupti FROM main.CLOCK WHERE typeof(realtime - cupti) = 'integer' "
            "ORDER BY cupti LIMIT 1")) {
      out_.prepare("INSERT INTO TARGET_INFO_SESSION_START_TIME(utcEpochNs) VALUES(?1)")
          .bind(1, saturating_add(zero_, *ahead))
          .run();
    }
  }
  if (database.has_column("PROCESS", "executable")) {
    Statement insert = out_.prepare("INSERT INTO PROCESSES VALUES(?1, ?2, ?3)");
    Statement rows = out_of_profile("SELECT processId, executable FROM main.PROCESS WHERE 1" +
                                    of_processes("PROCESS"));
    while (rows.step()) {
      insert.bind(1, global(rows.integer(0))).bind_column(2, rows, 0).bind_column(3, rows, 1).run();
    }
  }
  if (profile_.has_rows("NAME") && profile_.has_column("NAME", "threadId")) {
    Statement insert = out_.prepare("INSERT INTO ThreadNames(nameId, globalTid) VALUES(?1, ?2)");
    Statement rows = out_of_profile(
        "SELECT processId, threadId, name FROM main.CUPTI_ACTIVITY_KIND_NAME WHERE objectKind = 2" +
        of_processes("NAME"));
    while (rows.step()) {
      insert.bind(1, string(profile_.names().text(rows.integer(2))))
          .bind(2, global(rows.integer(0), rows.integer(1)))
          .run();
    }
  }
  write_devices();
}

void NsysWriter::write_devices() {
  if (!profile_.has_rows("DEVICE")) return;
  constexpr std::array<std::string_view, 20> columns{"id",
                                                     "name",
                                                     "(lower(hex(uuid)))",
                                                     "processId",
                                                     "l2CacheSize",
                                                     "globalMemorySize",
                                                     "(globalMemoryBandwidth * 1000)",
                                                     "(coreClockRate * 1000)",
                                                     "numMultiprocessors",
                                                     "numThreadsPerWarp",
                                                     "numMemcpyEngines",
                                                     "maxWarpsPerMultiprocessor",
                                                     "maxBlocksPerMultiprocessor",
                                                     "maxThreadsPerBlock",
                                                     "maxRegistersPerBlock",
                                                     "maxRegistersPerMultiprocessor",
                                                     "maxSharedMemoryPerBlock",
                                                     "maxSharedMemoryPerMultiprocessor",
                                                     "computeCapabilityMajor",
                                                     "computeCapabilityMinor"};
  Statement gpu = out_.prepare(
      "INSERT INTO TARGET_INFO_GPU(vmId, id, name, uuid, cuDevice, l2CacheSize, totalMemory, "
      "memoryBandwidth, clockRate, smCount, threadsPerWarp, asyncEngines, maxWarpsPerSm, "
      "maxBlocksPerSm, maxThreadsPerBlock, maxRegistersPerBlock, maxRegistersPerSm, "
      "maxShmemPerBlock, maxShmemPerSm, computeMajor, computeMinor) SELECT 0, ?1, ?2, ?3, ?1, ?5, "
      "?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20 "
      "WHERE ?1 NOT IN (SELECT id FROM TARGET_INFO_GPU)");
  Statement number = out_.prepare("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES(?1, ?1, ?2, ?3, ?4)");
  Statement rows = select("DEVICE", columns, "WHERE 1" + of_processes("DEVICE"));
  while (rows.step()) {
    for (int i = 0; i < static_cast<int>(columns.size()); ++i) gpu.bind_column(i + 1, rows, i);
    const std::string digits(rows.text(2).substr(0, 64));
    std::string uuid = "GPU-" + digits;
    for (const std::size_t at : {12u, 17u, 22u, 27u}) uuid.insert(std::min(at, uuid.size()), "-");
    gpu.bind(1, rows.integer(0)).bind(2, profile_.names().text(rows.integer(1)));
    number.bind(1, rows.integer(0)).bind(2, rows.integer(3)).bind_column(4, rows, 8);
    if (digits.empty()) {
      gpu.bind_null(3);
      number.bind_null(3);
    } else {
      gpu.bind(3, uuid);
      number.bind(3, uuid);
    }
    gpu.run();
    number.run();
  }
}

Visited write_nsys(reading::Profile& profile, const FileJob& job) {
  return NsysWriter(profile, job).write();
}

bool is_ours(const std::string& path) {
  reading::ProfileFile file(path);
  store::Database* database = file.nsys_export();
  return database && database->has_table(own_table);
}

}  // namespace

extern const FileFormat nsys_format{
    .name = "nsys",
    .ending = ".nsys.sqlite",
    .begins = "SQLite format 3",
    .is_one = is_ours,
    .help = "tables of \"nsys export --type sqlite\", for tools that read those",
    .make = nullptr,
    .write = write_nsys,
};

}  // namespace gpuprof::exporting
