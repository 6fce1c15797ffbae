#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "libprof/report/totals.hpp"
#include "libprof/report/trace/source.hpp"

namespace gpuprof::report {
namespace {

// GPU work of any kind. Kinds of nvprof's have more columns.
class WorkSource : public TraceSource {
 public:
  // `more`: columns that are always read.
  WorkSource(Session& session, const schema::GpuKind& work, std::vector<std::string_view> more,
             Amounts amounts = {})
      : TraceSource(session, {.rows = {.kind = work.kind, .integers = columns::Ties::as_stored},
                              .amounts = with_duration(work, std::move(amounts)),
                              .correlation_id = 2}),
        work_(work),
        more_(std::move(more)) {}

 protected:
  static constexpr int first = 7;  // of the further columns

  std::vector<std::string_view> columns() override {
    std::vector<std::string_view> all{"start",
                                      work_.end,
                                      "correlationId",
                                      "deviceId",
                                      "contextId",
                                      "streamId",
                                      shown(TraceField::process_id, "processId")};
    all.insert(all.end(), more_.begin(), more_.end());
    return all;
  }
  void read() override {
    text(TraceField::kind, work_.type);
    duration(integer(1));
    place(3);
    process(integer(6));
    read_more();
  }
  virtual void read_more() {
    integer(first) ? number(TraceField::size, integer(first)) : nothing(TraceField::size);
    text(TraceField::name, work_.name);
  }

 private:
  static Amounts with_duration(const schema::GpuKind& work, Amounts amounts) {
    amounts.emplace_back(TraceField::duration, "[" + std::string(work.end) + "] - start");
    return amounts;
  }

  const schema::GpuKind& work_;
  const std::vector<std::string_view> more_;
};

class KernelSource : public WorkSource {
 public:
  KernelSource(Session& session, const schema::GpuKind& work)
      : WorkSource(session, work, launch(),
                   {{TraceField::static_memory, "staticSharedMemory"},
                    {TraceField::dynamic_memory, "dynamicSharedMemory"}}),
        nested_(work.kind == "CDP_KERNEL") {}

 protected:
  std::vector<std::string_view> columns() override {
    std::vector<std::string_view> all = WorkSource::columns();
    all.push_back("name");
    all.push_back(shown(TraceField::grid_id, "gridId"));
    if (nested_) {
      all.insert(all.end(), {"parentGridId", "parentBlockX", "parentBlockY", "parentBlockZ"});
    }
    return all;
  }
  void read_more() override {
    dimensions(TraceField::grid, first);
    dimensions(TraceField::block, first + 3);
    known(TraceField::registers, first + 6);
    known(TraceField::static_memory, first + 7);
    known(TraceField::dynamic_memory, first + 8);
    number(TraceField::grid_id, integer(named + 1));
    std::string* name = text(TraceField::name);
    if (name) *name = session_.names().kernel(integer(named));
    if (nested_) {
      number(TraceField::parent_id, integer(named + 2));
      dimensions(TraceField::parent_block, named + 3);
    } else if (name && session_.output().text()) {
      *name += " [";
      append_number(*name, correlation_id());
      *name += ']';
    }
  }

 private:
  static constexpr int named = first + 9;
  static std::vector<std::string_view> launch() {  // without the carveout
    return {schema::launch_columns.begin(), schema::launch_columns.begin() + named - first};
  }

  const bool nested_;  // launched by a kernel
};

// In whole bytes per second.
std::int64_t throughput(std::int64_t bytes, std::int64_t duration) {
  constexpr std::int64_t second = 1'000'000'000;
  if (bytes >= 0 && bytes <= INT64_MAX / second) return bytes * second / duration;
  return static_cast<std::int64_t>(
      std::clamp(static_cast<double>(bytes) * second / static_cast<double>(duration), 0.0, 9e18));
}

// Copies and sets.
class TransferSource : public WorkSource {
 public:
  TransferSource(Session& session, const schema::GpuKind& work)
      : WorkSource(session, work,
                   {"bytes", work.kind == "MEMSET" ? "memoryKind" : "srcKind", "dstKind",
                    "copyKind", "srcDeviceId", "srcContextId", "dstDeviceId", "dstContextId"},
                   {{TraceField::size, "bytes"},
                    {TraceField::throughput, "bytes * 1000000000 / ([end] - start)"}}),
        set_(work.kind == "MEMSET"),
        peer_(work.kind == "MEMCPY2") {}

 protected:
  void read_more() override {
    const std::int64_t bytes = integer(first);
    number(TraceField::size, bytes);
    number(TraceField::throughput, throughput(bytes, saturating_subtract(integer(1), start())));
    memory(TraceField::source_memory, integer(first + 1));
    if (set_) return text(TraceField::name, memset_name());
    memory(TraceField::destination_memory, integer(first + 2));
    text(TraceField::name, memcpy_name(integer(first + 3)));
    if (!peer_) return;
    device(TraceField::source_device, integer(first + 4));
    context(TraceField::source_context, integer(first + 4), integer(first + 5));
    device(TraceField::destination_device, integer(first + 6));
    context(TraceField::destination_context, integer(first + 6), integer(first + 7));
  }

 private:
  const bool set_, peer_;
};

}  // namespace

std::unique_ptr<TraceSource> work_source(Session& session, const schema::GpuKind& work) {
  if (work.is_kernel()) return std::make_unique<KernelSource>(session, work);
  if (work.nvprofs) return std::make_unique<TransferSource>(session, work);
  return std::make_unique<WorkSource>(session, work, std::vector{work.bytes});
}

}  // namespace gpuprof::report
