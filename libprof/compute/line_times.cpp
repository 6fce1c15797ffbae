#include "libprof/compute/line_times.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

// Something that a call asked for or did. Of the parts with one correlation id, a runtime call
// comes before the driver calls that it makes.
struct TimedPart {
  enum class What : std::uint8_t { runtime_call, other_call, kernel, copy, other_work, gap };

  std::int64_t correlation = 0, duration = 0;
  What what = What::kernel;
  std::uint32_t line = 0;  // of the node of a graph; 0: that of the call
  bool operator<(const TimedPart& other) const {
    return std::tie(correlation, what) < std::tie(other.correlation, other.what);
  }
};

using CheckOften = std::function<void()>;

void read_timed_work(store::Snapshot& snapshot, const CodeLines& lines, Sorted<TimedPart>& parts,
                     const CheckOften& check) {
  const NodeStacks nodes(snapshot, check);
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (kind.stays_empty || !schema::has_column(*kind.table, "correlationId")) continue;
    const bool in_graphs = schema::has_column(*kind.table, "graphNodeId");
    std::vector<std::string> columns{"correlationId", "start", std::string(kind.end)};
    if (in_graphs) columns.insert(columns.end(), {"graphNodeId", "processId"});
    columns::Reader reader(snapshot, {.table = std::string(kind.table->name), .columns = columns});
    const TimedPart::What what = kind.is_kernel()               ? TimedPart::What::kernel
                                 : kind.kind.starts_with("MEM") ? TimedPart::What::copy
                                                                : TimedPart::What::other_work;
    reader.read([&](const columns::Chunk& chunk) {
      check();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        const std::int64_t start = columns::whole(chunk[1], row);
        const std::int64_t time = saturating_subtract(columns::whole(chunk[2], row), start);
        if (start <= 0 || time <= 0) continue;
        const std::int64_t node = in_graphs ? columns::whole(chunk[3], row) : 0;
        std::uint32_t line = 0;
        if (node != 0) {
          const std::int64_t process = columns::whole(chunk[4], row);
          const std::int64_t asked = columns::whole(chunk[0], row);
          line = lines.line_of(process, nodes.stack_of(process, node, asked));
        }
        parts.add({columns::whole(chunk[0], row), time, what, line});
      }
    });
  }
}

void read_timed_calls(store::Snapshot& snapshot, Sorted<TimedPart>& parts,
                      const CheckOften& check) {
  for (const schema::ApiKind& kind : schema::api_kinds) {
    columns::Reader reader(snapshot, {.table = "CUPTI_ACTIVITY_KIND_" + std::string(kind.kind),
                                      .columns = {"correlationId", "start", "end"}});
    const TimedPart::What what =
        kind.domain == "runtime" ? TimedPart::What::runtime_call : TimedPart::What::other_call;
    reader.read([&](const columns::Chunk& chunk) {
      check();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        const std::int64_t time =
            saturating_subtract(columns::whole(chunk[2], row), columns::whole(chunk[1], row));
        parts.add({columns::whole(chunk[0], row), std::max<std::int64_t>(time, 0), what});
      }
    });
  }
}

void read_timed_gaps(store::Snapshot& snapshot, Sorted<TimedPart>& parts, const CheckOften& check) {
  columns::Reader reader(snapshot,
                         {.table = "GPU_GAP", .columns = {"correlationId", "start", "stop"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t time =
          saturating_subtract(columns::whole(chunk[2], row), columns::whole(chunk[1], row));
      if (time > 0) parts.add({columns::whole(chunk[0], row), time, TimedPart::What::gap});
    }
  });
}

void add_part(LineTime& line, const TimedPart& part) {
  const auto count = [&](std::int64_t& time, std::int64_t& how_many) {
    time = saturating_add(time, part.duration);
    ++how_many;
  };
  std::int64_t others = 0;
  switch (part.what) {
    case TimedPart::What::kernel: return count(line.gpu, line.kernels);
    case TimedPart::What::copy: return count(line.gpu, line.copies);
    case TimedPart::What::other_work: return count(line.gpu, others);
    case TimedPart::What::gap: return count(line.idle, others);
    default: return count(line.call, line.calls);
  }
}

}  // namespace

std::vector<LineTime> read_line_times(store::Snapshot& snapshot, LineOf which,
                                      const CheckOften& check) {
  const CodeLines lines(snapshot, which, check);
  Sorted<CodeLines::Call> calls;
  lines.read_calls(snapshot, calls, check);
  Sorted<TimedPart> parts;
  read_timed_work(snapshot, lines, parts, check);
  read_timed_calls(snapshot, parts, check);
  read_timed_gaps(snapshot, parts, check);

  std::vector<LineTime> times(lines.lines().size());
  calls.for_each([&](const CodeLines::Call& call) { ++times[call.line].recorded; });
  Sorted<CodeLines::Call>::Cursor call(calls);
  std::int64_t outermost = -1;  // correlation id of the last call that counted
  parts.for_each([&](const TimedPart& part) {
    while (!call.at_end() && call.front().correlation < part.correlation) call.advance();
    const bool known = !call.at_end() && call.front().correlation == part.correlation;
    const bool is_call = part.what <= TimedPart::What::other_call;
    // Work without a call has no correlation id.
    if (is_call && part.correlation != 0) {
      if (std::exchange(outermost, part.correlation) == part.correlation) return;
    }
    const std::uint32_t calls_line = known && part.correlation != 0 ? call.front().line : 0;
    add_part(times[part.line != 0 ? part.line : calls_line], part);
  });
  for (std::size_t i = 1; i < times.size(); ++i) times[i].line = lines.lines()[i];
  std::erase_if(times, [](const LineTime& time) {
    return time.gpu == 0 && time.calls == 0 && time.idle == 0 && time.recorded == 0;
  });
  std::ranges::stable_sort(times, [](const LineTime& a, const LineTime& b) {
    return std::tie(b.gpu, b.idle, b.call) < std::tie(a.gpu, a.idle, a.call);
  });
  return times;
}

}  // namespace gpuprof::compute
