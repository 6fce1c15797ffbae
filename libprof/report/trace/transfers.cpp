#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "libprof/report/totals.hpp"
#include "libprof/report/trace/sources.hpp"

namespace gpuprof::report {
namespace {

// In whole bytes per second.
std::int64_t throughput(std::int64_t bytes, std::int64_t duration) {
  constexpr std::int64_t second = 1'000'000'000;
  if (bytes >= 0 && bytes <= INT64_MAX / second) return bytes * second / duration;
  return static_cast<std::int64_t>(
      std::clamp(static_cast<double>(bytes) * second / static_cast<double>(duration), 0.0, 9e18));
}

// Copies and sets.
class TransferSource : public TraceSource {
 public:
  TransferSource(Session& session, std::string_view kind)
      : TraceSource(session,
                    {.rows = {.kind = kind},
                     .amounts = {{TraceField::duration, "[end] - start"},
                                 {TraceField::size, "bytes"},
                                 {TraceField::throughput, "bytes * 1000000000 / ([end] - start)"}},
                     .correlation_id = 6}),
        set_(kind == "MEMSET"),
        peer_(kind == "MEMCPY2") {}

 protected:
  store::Statement open() override {
    return session_.select(
        kind(),
        {"start", "end", "bytes", "deviceId", "contextId", "streamId", "correlationId",
         shown(TraceField::process_id, "processId"), set_ ? "memoryKind" : "srcKind", "dstKind",
         "copyKind", "srcDeviceId", "srcContextId", "dstDeviceId", "dstContextId"},
        where() + order());
  }
  void read() override {
    const std::int64_t bytes = rows_.integer(2);
    text(TraceField::kind, set_ ? "memset" : "memcpy");
    duration(rows_.integer(1));
    number(TraceField::size, bytes);
    number(TraceField::throughput,
           throughput(bytes, saturating_subtract(rows_.integer(1), start_)));
    place(3);
    process(rows_.integer(7));
    memory(TraceField::source_memory, rows_.integer(8));
    if (set_) return text(TraceField::name, memset_name());
    memory(TraceField::destination_memory, rows_.integer(9));
    text(TraceField::name, memcpy_name(rows_.integer(10)));
    if (!peer_) return;
    device(TraceField::source_device, rows_.integer(11));
    context(TraceField::source_context, rows_.integer(11), rows_.integer(12));
    device(TraceField::destination_device, rows_.integer(13));
    context(TraceField::destination_context, rows_.integer(13), rows_.integer(14));
  }

 private:
  const bool set_, peer_;
};

}  // namespace

std::unique_ptr<TraceSource> transfer_source(Session& session, std::string_view kind) {
  return std::make_unique<TransferSource>(session, kind);
}

}  // namespace gpuprof::report
