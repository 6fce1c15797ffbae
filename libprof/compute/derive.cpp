#include "libprof/compute/derive.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "libprof/base/second_thread.hpp"
#include "libprof/compute/account_blocks.hpp"
#include "libprof/compute/call_times.hpp"
#include "libprof/compute/communication.hpp"
#include "libprof/compute/display_names.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/idle_times.hpp"
#include "libprof/compute/kernel_times.hpp"
#include "libprof/compute/launch_ranges.hpp"
#include "libprof/compute/launch_shapes.hpp"
#include "libprof/compute/launch_times.hpp"
#include "libprof/compute/memory_use.hpp"
#include "libprof/compute/new_indexes.hpp"
#include "libprof/compute/nvtx_paths.hpp"
#include "libprof/compute/pm_kernels.hpp"
#include "libprof/compute/range_index.hpp"
#include "libprof/compute/range_times.hpp"
#include "libprof/compute/stack_lines.hpp"
#include "libprof/compute/steps.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/store/database_schema.hpp"
#include "libprof/store/new_trees.hpp"
#include "libprof/store/scan.hpp"
#include "schema/derived.hpp"
#include "schema/graph_nodes.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

void bind_or_null(store::Statement& statement, int index, std::int64_t value) {
  value == 0 ? statement.bind_null(index) : statement.bind(index, value);
}

// Few enough that those at the edges of a window are soon read, and that their table is small.
std::int64_t works_per_block(store::Database& database) {
  constexpr std::int64_t least = 32'768, most_blocks = 512;
  return std::max(least, static_cast<std::int64_t>(most_gpu_work(database)) / most_blocks);
}

std::string_view type_of(const GpuWork& work) { return schema::gpu_kinds[work.kind].type; }

// The results, and where they are written.
struct Found {
  IdleTimes idle;
  BlockSize block_size;
  std::map<std::int64_t, DeviceAccount> devices;
  AccountWindow window;
  LaunchShapes shapes;
  KernelTimes kernel_times;
  CallTimes call_times;
  LaunchTimes launch_times;
  MemoryUse memory;
  Steps steps;
  PmKernels pm_kernels;
  LaunchRanges launches;
  RangeParents parents;
  RangeTimes ranges;
  RowGroups groups;
  StackLines stack_lines;
  std::set<std::int32_t> communicating;  // names of kernels
  CorrelationSet made_nodes;             // calls that made nodes of graphs
  SecondThread second;

  Found(store::Database& database, const ComputeOptions& options)
      : block_size{options.works_per_block > 0 ? options.works_per_block
                                               : works_per_block(database)},
        call_times(database),
        steps(database),
        groups(database, options.row_groups) {}

  // Goes on with what needs no file until end() is called.
  void read(store::Snapshot& snapshot, NewIndexes& indexes, const std::function<void()>& check);
  void end() { second.end(); }
  // `other` on the second thread, if that is worth it.
  void do_both(const columns::Chunk& chunk, const std::function<void()>& own,
               const std::function<void()>& other);
  void add_rows(const WorkRows& rows, NewIndexes& indexes);
  void read_made_nodes(store::Database& database);
  void read_calls(store::Snapshot& snapshot, const RangeIndex& index, NewIndexes& indexes,
                  const std::function<void()>& check);
  // Call when the launches are known.
  void read_ranges(store::Snapshot& snapshot, const std::function<void()>& check);
  void write_ranges(store::Database& database);
  void write_devices(store::Database& database);
};

void Found::read(store::Snapshot& snapshot, NewIndexes& indexes,
                 const std::function<void()>& check) {
  idle.read_waits(snapshot, check);
  steps.read_ranges(snapshot, check);
  // The samples of a block would be too few.
  if (idle.knows_moments()) block_size.works = 0;
  DeviceAccount* device = nullptr;
  std::int64_t number = 0;  // of `device`
  read_gpu_work(snapshot,
                {.visit =
                     [&](const GpuWork& work) {
                       if (!device || number != work.device) {
                         number = work.device;
                         device =
                             &devices.try_emplace(number, idle, block_size, number).first->second;
                       }
                       idle.add_waited_for(work);
                       steps.add(work);
                       device->add(work);
                       if (work.communicates) communicating.insert(work.name);
                     },
                 .restart =
                     [&] {
                       devices.clear();
                       block_size.seen = 0;
                       idle.restart();
                       steps.restart();
                       device = nullptr;
                     },
                 .check = check,
                 .visit_ids = [&](const auto ids) { idle.add_asked_for(ids); },
                 .visit_rows =
                     [&](const WorkRows& rows, const std::function<void()>& go_on) {
                       do_both(rows.chunk, go_on, [&] { add_rows(rows, indexes); });
                     }});
  indexes.finish();
  shapes.read_devices(snapshot);
  memory.read(snapshot, check);
  for (auto& [number_of_device, its] : devices) its.finish(window);
  const RangeIndex index(snapshot, parents);
  read_made_nodes(snapshot.database());
  read_calls(snapshot, index, indexes, check);
  const auto finish = [this, same = LaunchTimes::same_names(
                                 snapshot.database(), kernel_times.names())](const auto& go_on) {
    LaunchTimes::Join join(launch_times, call_times, same);
    idle.finish(go_on, [&](const LaunchCall& call) { join.take(call); });
  };
  // Host samples may take long, and only this thread can be interrupted.
  if (second.exists() && !idle.knows_moments()) {
    second.begin([finish] { finish([] {}); });
  } else {
    finish(check);
  }
  steps.read_windows(snapshot, check);
  stack_lines.read(snapshot, check);
}

void Found::do_both(const columns::Chunk& chunk, const std::function<void()>& own,
                    const std::function<void()>& other) {
  constexpr std::size_t few = 256;
  if (chunk.rows() >= few) return second.call_both(own, other);
  own();
  other();
}

void Found::add_rows(const WorkRows& rows, NewIndexes& indexes) {
  indexes.add(rows.table, rows.chunk, rows.row_id, rows.correlation);
  groups.add(rows.for_groups());
  if (!rows.kernels) return;
  shapes.add(*rows.kernels);
  kernel_times.add(*rows.kernels);
  launch_times.add(*rows.kernels);
}

void Found::read_made_nodes(store::Database& database) {
  const std::string table(schema::GraphNode::table.name);
  if (!database.has_column(table, "correlationId")) return;
  auto call = database.prepare("SELECT correlationId FROM main." + table);
  while (call.step()) {
    if (!call.is_null(0)) made_nodes.add(call.integer(0));
  }
}

// Finds the ranges of calls that requested work or made nodes of graphs, and what filled the gaps.
void Found::read_calls(store::Snapshot& snapshot, const RangeIndex& index, NewIndexes& indexes,
                       const std::function<void()>& check) {
  // If both have a call with the same id, the runtime's counts.
  for (const auto& [domain, table] : CallTimes::sources) {
    columns::Reader reader(snapshot, {.table = std::string(table),
                                      .columns = {"correlationId", "start", "end", "processId",
                                                  "threadId", "cbid", "_id_", "returnValue"}});
    const bool internal = domain == CallTimes::internal;
    const auto add_rows_of = [&, domain = domain, table = table](const columns::Chunk& chunk) {
      call_times.add(domain, chunk[5], chunk[1], chunk[2], chunk[7]);
      indexes.add(table, chunk, 6, 0);
      if (internal) return;
      groups.add({.table = table,
                  .id = chunk[6],
                  .start = chunk[1],
                  .end = chunk[2],
                  .process = chunk[3],
                  .correlation = chunk[0]});
      steps.add({.runtime = domain == CallTimes::runtime,
                 .cbid = chunk[5],
                 .correlation = chunk[0],
                 .start = chunk[1],
                 .end = chunk[2],
                 .process = chunk[3],
                 .thread = chunk[4]});
    };
    const auto add_calls = [&, domain = domain](const columns::Chunk& chunk) {
      if (internal) return;
      idle.add({.of_driver = domain == CallTimes::driver,
                .correlation = chunk[0],
                .start = chunk[1],
                .end = chunk[2],
                .process = chunk[3],
                .cbid = chunk[5],
                .thread = chunk[4]});
      window.add(chunk[1], chunk[2]);
      if (index.empty()) return;
      const auto correlation = chunk[0].int64s(), start = chunk[1].int64s(),
                 process = chunk[3].int64s(), thread = chunk[4].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (start[row] <= 0) continue;
        if (!idle.asked_for().contains(correlation[row]) && !made_nodes.contains(correlation[row]))
          continue;
        launches.add(correlation[row], index.at(process[row], thread[row], start[row]));
      }
    };
    reader.read([&](const columns::Chunk& chunk) {
      check();
      do_both(
          chunk, [&] { add_calls(chunk); }, [&] { add_rows_of(chunk); });
    });
  }
  indexes.finish();
}

void Found::read_ranges(store::Snapshot& snapshot, const std::function<void()>& check) {
  if (parents.empty()) return;
  read_gpu_work(snapshot, {.visit =
                               [&](const GpuWork& work) {
                                 const std::int64_t range = launches.range_of(work.correlation);
                                 if (range != 0) ranges.add(work, range, parents);
                               },
                           .restart = [&] { ranges = {}; },
                           .check = check});
}

void Found::write_ranges(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::range_time);
  ranges.for_each([&](std::int64_t device, std::int64_t range, const RangeTimes::Time& its) {
    insert.bind(1, range).bind(2, device).bind(3, its.work).bind(4, its.kernels);
    insert.bind(5, its.busy.ns()).bind(6, its.busy.first()).bind(7, its.busy.until()).run();
  });
}

void Found::write_devices(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::device_time);
  for (const auto& [number, device] : devices) {
    const DeviceTime& time = device.time();
    insert.bind(1, number).bind(2, time.first()).bind(3, time.last()).bind(4, time.busy());
    insert.bind(5, time.kernels_only()).bind(6, time.copies_only()).bind(7, time.both());
    insert.bind(8, time.exposed_communication()).bind(9, time.gap_count()).run();
  }
  insert = fill(database, schema::tables::stream_time);
  for (const auto& [number, device] : devices) {
    for (const auto& [streams, duration] : device.time().streams()) {
      insert.bind(1, number).bind(2, streams).bind(3, duration).run();
    }
  }
  insert = fill(database, schema::tables::copy_time);
  for (const auto& [number, device] : devices) {
    for (const auto& [direction, copies] : device.time().copies()) {
      insert.bind(1, number).bind(2, std::int64_t{direction}).bind(3, copies.copying);
      insert.bind(4, copies.beside_kernels).run();
    }
  }
  insert = fill(database, schema::tables::gpu_gap);
  for (const auto& [number, device] : devices) {
    const auto gaps = idle.longest_gaps(device.place());
    for (std::size_t i = 0; i < gaps.size(); ++i) {
      const Gap& gap = gaps[i];
      const std::optional<HostCalls::Split>& split = idle.splits(device.place())[i];
      insert.bind(1, number).bind(2, gap.begin).bind(3, gap.end);
      insert.bind(4, type_of(gap.before)).bind(5, std::int64_t{gap.before.name});
      insert.bind(6, type_of(gap.behind)).bind(7, std::int64_t{gap.behind.name});
      insert.bind(8, gap.behind.correlation);
      bind_or_null(insert, 9, split ? split->correlation : 0);
      bind_or_null(insert, 10, split ? split->time : 0);
      if (split) {
        insert.bind(11, split->no_call(gap)).bind(12, split->launching).bind(13, split->queued);
      } else {
        insert.bind_null(11).bind_null(12).bind_null(13);
      }
      bind_or_null(insert, 14, launches.range_of(gap.behind.correlation));
      insert.run();
    }
  }
}

}  // namespace

std::string compute(store::Database& database, const ComputeOptions& options) {
  std::string_view doing;
  const auto tell = [&](std::string_view what) {
    doing = what;
    if (options.progress) options.progress(what);
  };
  const auto check = [&] {
    tell(doing);
    if (options.stop && options.stop()) {
      throw store::DatabaseError("what follows from the records is not computed", "",
                                 ExitCode::internal, store::DatabaseError::Kind::interrupted);
    }
  };
  database.release_memory();
  std::string problem;
  std::optional<Found> found(std::in_place, database, options);
  std::optional<store::NewTrees> trees;
  const auto attempt = [&](const std::function<void()>& work,
                           const std::function<void()>& instead) {
    try {
      work();
    } catch (const store::DatabaseError&) {
      throw;
    } catch (const Error& error) {
      problem = error.what();
      instead();
    }
  };
  const auto forget = [&] { found.emplace(database, options); };
  {
    store::Snapshot snapshot(database);
    // Of a small file SQLite writes the little there is in less time than it takes to parse the
    // schema again, as it does after trees were added.
    if (snapshot.in_file() && !store::is_small(database)) trees.emplace(snapshot);
    if (trees && !trees->possible()) trees.reset();
    NewIndexes indexes(snapshot, options.indexes, trees ? &*trees : nullptr);
    tell("computing what follows from the records");
    attempt(
        [&] {
          found->read(snapshot, indexes, check);
          if (trees) {
            found->launches.write(*trees);
          } else {
            found->launches.end();
          }
          found->read_ranges(snapshot, check);
          found->pm_kernels.read(database, snapshot, check);
        },
        [&] {
          forget();
          indexes.give_up();
        });
    tell("making indexes");
    indexes.make_others(check);
  }
  attempt([&] { found->end(); }, forget);
  const bool published = trees && trees->publish();
  tell("writing what follows from the records");
  database.execute("BEGIN");
  if (!published) found->launches.write(database);
  write_nvtx_paths(database);
  found->write_ranges(database);
  found->write_devices(database);
  write_accounts(database, found->devices, found->window, found->groups.are_wanted());
  found->shapes.write(database);
  found->kernel_times.write(database);
  found->call_times.write(database);
  found->launch_times.write(database);
  found->memory.write(database);
  found->pm_kernels.write(database);
  found->steps.write(database);
  found->groups.write(database);
  write_display_names(database, found->kernel_times.names());
  found->stack_lines.write(database);
  store::add_nccl_view(database);
  write_communication_names(database, found->communicating);
  database.execute("COMMIT");
  if (options.more && problem.empty()) {
    attempt([&] { options.more(database, check); }, [] {});
  }
  tell("making indexes");
  store::create_indexes(database, options.indexes);
  if (problem.empty()) {
    tell("storing the timeline");
    try {
      timeline::store_timeline(database, options.timeline, check);
    } catch (const store::DatabaseError& error) {
      // Nothing is missing without it: viewers read the records.
      if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
    }
  }
  return problem;
}

}  // namespace gpuprof::compute
