#include <memory>
#include <string>
#include <utility>

#include "libprof/report/trace/sources.hpp"

namespace gpuprof::report {
namespace {

class OwnWorkSource : public TraceSource {
 public:
  OwnWorkSource(Session& session, const schema::GpuKind& work)
      : TraceSource(session,
                    {.rows = {.kind = work.kind},
                     .amounts = {{TraceField::duration, "[" + std::string(work.end) + "] - start"}},
                     .correlation_id = 2}),
        work_(work) {}

 protected:
  store::Statement open() override {
    return session_.select(
        kind(),
        {"start", work_.end, "correlationId", "deviceId", "contextId", "streamId",
         shown(TraceField::process_id, "processId"), work_.bytes.empty() ? "0" : work_.bytes},
        where() + order());
  }
  void read() override {
    text(TraceField::kind, work_.type);
    duration(rows_.integer(1));
    place(3);
    process(rows_.integer(6));
    rows_.integer(7) ? number(TraceField::size, rows_.integer(7)) : nothing(TraceField::size);
    text(TraceField::name, work_.name);
  }

 private:
  const schema::GpuKind& work_;
};

}  // namespace

std::unique_ptr<TraceSource> own_work_source(Session& session, const schema::GpuKind& work) {
  return std::make_unique<OwnWorkSource>(session, work);
}

}  // namespace gpuprof::report
