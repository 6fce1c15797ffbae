#include "libprof/compute/gpu_work.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/communication.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {

namespace {

// Whether a kind is of one of the types; all work is asked.
constexpr auto kinds_of(const auto&... types) {
  std::array<bool, schema::gpu_kinds.size()> are{};
  for (std::size_t i = 0; i < are.size(); ++i) {
    are[i] = ((schema::gpu_kinds[i].type == types) || ...);
  }
  return are;
}
constexpr auto kernel_kinds = kinds_of("kernel"), computing_kinds = kinds_of("kernel", "graph");

}  // namespace

bool GpuWork::is_kernel() const { return kernel_kinds[kind]; }

bool GpuWork::computes() const { return computing_kinds[kind]; }

void CorrelationSet::add(std::int64_t correlation) {
  const std::int64_t number = block_of(correlation);
  Recent& recent = recent_of(number);
  if (recent.number != number) find(number, recent);
  if (!recent.block) {
    full_ |= blocks_.size() == most_blocks;
    if (full_) return;
    recent.block = &blocks_[number];
  }
  (*recent.block)[place_of(correlation)] = true;
}

void CorrelationSet::find(std::int64_t number, Recent& recent) const {
  const auto found = blocks_.find(number);
  recent = {number, found == blocks_.end() ? nullptr : &found->second};
}

namespace {

// Columns of all kinds, then the one that names the kind, then those of a launch.
constexpr std::size_t named_by_column = 8;

KernelRows kernel_rows(const columns::Chunk& chunk) {
  const auto column = [&](std::size_t place) { return chunk[named_by_column + place].int32s(); };
  return {.count = chunk.rows(),
          .device = chunk[0].int64s(),
          .process = chunk[6].int64s(),
          .begin = chunk[1].int64s(),
          .end = chunk[2].int64s(),
          .correlation = chunk[3].int64s(),
          .name = column(0),
          .grid_x = column(1),
          .grid_y = column(2),
          .grid_z = column(3),
          .block_x = column(4),
          .block_y = column(5),
          .block_z = column(6),
          .registers = column(7),
          .static_shared_memory = column(8),
          .dynamic_shared_memory = column(9),
          .carveout = column(10),
          .carveout_requested = chunk[named_by_column + 11].booleans()};
}

// How copies are made: their columns after the one that names the kind.
constexpr std::array copy_columns{"srcKind", "dstKind", "flags", "graphId"};

std::uint8_t how_copied(const columns::Chunk& chunk, std::size_t row, std::int32_t direction) {
  constexpr std::int32_t host_to_device = 1, device_to_host = 2;  // CUpti_ActivityMemcpyKind
  constexpr std::int64_t pageable = 1;                            // CUpti_ActivityMemoryKind
  if (direction != host_to_device && direction != device_to_host) return 0;
  const auto number = [&](std::size_t place) { return whole(chunk[named_by_column + place], row); };
  const columns::Column& flags = chunk[named_by_column + 3];
  std::uint8_t how = 0;
  if (number(1) == pageable || number(2) == pageable) how |= GpuWork::pageable;
  if (!flags.is_null(row) && !(whole(flags, row) & 1) && number(4) == 0) how |= GpuWork::blocking;
  return how;
}

std::string table_of(const schema::GpuKind& kind) {
  return "CUPTI_ACTIVITY_KIND_" + std::string(kind.kind);
}

// `again`: only the work of the rows is visited.
void read_kind(store::Snapshot& snapshot, std::size_t kind, const Communication& communication,
               const GpuWorkVisitor& visitor, const NeededRows* needed, bool again,
               const auto& take) {
  const schema::GpuKind& each = schema::gpu_kinds[kind];
  std::vector<std::string> names{"deviceId",  "start",    std::string(each.end), "correlationId",
                                 "contextId", "streamId", "processId",           "_id_"};
  const bool kernels = each.type == "kernel", copies = each.type == "memcpy";
  const bool visited = !again && visitor.visit_rows;
  if (kernels || copies) names.emplace_back(each.named_by);
  if (copies) names.insert(names.end(), copy_columns.begin(), copy_columns.end());
  if (visited && kernels)
    names.insert(names.end(), schema::launch_columns.begin(), schema::launch_columns.end());
  const bool nodes = kernels && communication.has_nodes();
  const std::size_t node_column = names.size();
  if (nodes) names.emplace_back("graphNodeId");
  const std::string table = table_of(each);
  columns::Reader reader(snapshot, {.table = table,
                                    .columns = std::move(names),
                                    .needed = needed ? needed->of(table) : std::nullopt});
  reader.read([&](const columns::Chunk& chunk) {
    visitor.check();
    const auto device = chunk[0].int64s(), begin = chunk[1].int64s(), end = chunk[2].int64s(),
               correlation = chunk[3].int64s(), context = chunk[4].int64s(),
               stream = chunk[5].int64s(), process = chunk[6].int64s();
    const auto numbers = [&](bool there) {
      return there ? chunk[named_by_column].int32s() : std::span<const std::int32_t>();
    };
    const auto name = numbers(kernels), direction = numbers(copies);
    const auto take_rows = [&] {
      if (visitor.visit_ids) visitor.visit_ids(correlation);
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (begin[row] <= 0 || end[row] <= begin[row]) continue;
        take({.device = device[row],
              .begin = begin[row],
              .end = end[row],
              .correlation = correlation[row],
              .stream = context[row] << 32 | (stream[row] & 0xffffffff),
              .process = process[row],
              .name = name.empty() ? 0 : name[row],
              .kind = static_cast<std::uint8_t>(kind),
              .copied = direction.empty() ? std::uint8_t{} : how_copied(chunk, row, direction[row]),
              .direction =
                  direction.empty() ? GpuWork::no_copy : static_cast<std::int16_t>(direction[row]),
              .communicates =
                  kernels && communication.has(name[row], correlation[row], process[row],
                                               nodes ? whole(chunk[node_column], row) : 0)});
      }
    };
    if (!visited) return take_rows();
    visitor.visit_rows({.table = table,
                        .chunk = chunk,
                        .row_id = 7,
                        .correlation = 3,
                        .kernels = kernels ? std::optional(kernel_rows(chunk)) : std::nullopt},
                       take_rows);
  });
}

// Whether the table can have rows.
bool is_read(std::size_t kind) { return !schema::gpu_kinds[kind].stays_empty; }

// The greatest row id; -1: there is no such table.
std::int64_t last_id(store::Database& database, std::size_t kind) {
  const std::string table = table_of(schema::gpu_kinds[kind]);
  if (!is_read(kind) || !database.has_table(table)) return -1;
  return database.integer("SELECT max(_id_) FROM main." + table).value_or(0);
}

std::size_t largest_kind(store::Database& database) {
  std::size_t largest = 0;
  std::int64_t most = -1;
  for (std::size_t kind = 0; kind < schema::gpu_kinds.size(); ++kind) {
    const std::int64_t last = last_id(database, kind);
    if (last <= most) continue;
    most = last;
    largest = kind;
  }
  return largest;
}

}  // namespace

RowGroups::Rows WorkRows::for_groups() const {
  return {.table = table,
          .id = chunk[row_id],
          .start = chunk[1],
          .end = chunk[2],
          .process = chunk[6],
          .correlation = chunk[correlation],
          .device = &chunk[0]};
}

std::size_t most_gpu_work(store::Database& database) {
  constexpr std::int64_t least_bytes = 32;  // of a row with its times and ids
  const std::int64_t bytes = saturating_multiply(database.integer("PRAGMA page_count").value_or(0),
                                                 database.integer("PRAGMA page_size").value_or(0));
  std::int64_t most = 0;
  for (std::size_t kind = 0; kind < schema::gpu_kinds.size(); ++kind) {
    most = saturating_add(most, std::max<std::int64_t>(last_id(database, kind), 0));
  }
  return static_cast<std::size_t>(std::clamp<std::int64_t>(most, 0, bytes / least_bytes));
}

void read_gpu_work(store::Snapshot& snapshot, const GpuWorkVisitor& visitor,
                   const NeededRows* needed) {
  const std::size_t largest = largest_kind(snapshot.reader(0));
  const Communication communication(snapshot.reader(0));
  const auto read_others = [&](bool again, Sorted<GpuWork>& into) {
    for (std::size_t kind = 0; kind < schema::gpu_kinds.size(); ++kind) {
      if (kind == largest || !is_read(kind)) continue;
      read_kind(snapshot, kind, communication, visitor, needed, again,
                [&](const GpuWork& work) { into.add(work); });
    }
  };
  {
    Sorted<GpuWork> others;
    read_others(false, others);
    Sorted<GpuWork>::Cursor other(others);
    const auto merge = [&](const GpuWork& work) {
      for (; !other.at_end() && other.front() < work; other.advance()) visitor.visit(other.front());
      visitor.visit(work);
    };
    NearlySorted<GpuWork> nearly;
    read_kind(snapshot, largest, communication, visitor, needed, false,
              [&](const GpuWork& work) { nearly.add(work, merge); });
    if (nearly.finish(merge)) {
      for (; !other.at_end(); other.advance()) visitor.visit(other.front());
      return;
    }
  }
  visitor.restart();
  Sorted<GpuWork> all;
  read_others(true, all);
  read_kind(snapshot, largest, communication, visitor, needed, true,
            [&](const GpuWork& work) { all.add(work); });
  all.for_each(visitor.visit);
}

}  // namespace gpuprof::compute
