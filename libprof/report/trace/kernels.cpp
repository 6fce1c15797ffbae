#include <memory>
#include <string>
#include <utility>

#include "libprof/report/trace/sources.hpp"

namespace gpuprof::report {
namespace {

class KernelSource : public TraceSource {
 public:
  KernelSource(Session& session, std::string_view kind)
      : TraceSource(session, {.rows = {.kind = kind},
                              .amounts = {{TraceField::duration, "[end] - start"},
                                          {TraceField::static_memory, "staticSharedMemory"},
                                          {TraceField::dynamic_memory, "dynamicSharedMemory"}},
                              .correlation_id = 14}),
        nested_(kind == "CDP_KERNEL") {}

 protected:
  store::Statement open() override {
    return session_.select(kind(),
                           {"start",
                            "end",
                            "gridX",
                            "gridY",
                            "gridZ",
                            "blockX",
                            "blockY",
                            "blockZ",
                            "registersPerThread",
                            "staticSharedMemory",
                            "dynamicSharedMemory",
                            "deviceId",
                            "contextId",
                            "streamId",
                            "correlationId",
                            shown(TraceField::process_id, "processId"),
                            "name",
                            shown(TraceField::grid_id, "gridId"),
                            shown(TraceField::parent_id, "parentGridId"),
                            shown(TraceField::parent_block, "parentBlockX"),
                            shown(TraceField::parent_block, "parentBlockY"),
                            shown(TraceField::parent_block, "parentBlockZ")},
                           where() + order());
  }
  void read() override {
    text(TraceField::kind, "kernel");
    duration(rows_.integer(1));
    dimensions(TraceField::grid, 2);
    dimensions(TraceField::block, 5);
    known(TraceField::registers, 8);
    known(TraceField::static_memory, 9);
    known(TraceField::dynamic_memory, 10);
    place(11);
    process(rows_.integer(15));
    number(TraceField::grid_id, rows_.integer(17));
    std::string* name = text(TraceField::name);
    if (name) *name = session_.names().kernel(rows_.integer(16));
    if (nested_) {
      number(TraceField::parent_id, rows_.integer(18));
      dimensions(TraceField::parent_block, 19);
    } else if (name && session_.output().text()) {
      *name += " [";
      append_number(*name, correlation_id());
      *name += ']';
    }
  }

 private:
  const bool nested_;  // launched by a kernel
};

}  // namespace

std::unique_ptr<TraceSource> kernel_source(Session& session, std::string_view kind) {
  return std::make_unique<KernelSource>(session, kind);
}

}  // namespace gpuprof::report
