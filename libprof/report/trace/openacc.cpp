#include <memory>

#include "libprof/report/trace/source.hpp"

namespace gpuprof::report {
namespace {

// OpenACC directives.
class OpenaccSource : public TraceSource {
 public:
  OpenaccSource(Session& session, const OpenaccKind& kind)
      : TraceSource(session,
                    {.rows = {.kind = kind.table, .valid = openacc_valid(session, kind.table)},
                     .amounts = {{TraceField::duration, "[end] - start"}}}),
        object_(kind.object),
        names_(session) {}

 protected:
  std::vector<std::string_view> columns() override {
    return {"start",       "end",
            "cuDeviceId",  "cuContextId",
            "cuStreamId",  kind() == "OPENACC_DATA" ? "bytes" : "0",
            "cuProcessId", "cuThreadId",
            "eventKind",   "parentConstruct",
            "srcFile",     "lineNo",
            object_};
  }
  void read() override {
    text(TraceField::kind, "openacc");
    duration(integer(1));
    place(2);
    device(TraceField::directive_device, integer(2));
    const std::int64_t bytes = integer(5);
    bytes > 0 ? number(TraceField::size, bytes) : nothing(TraceField::size);
    process(integer(6));
    number(TraceField::thread_id, integer(7));
    text(TraceField::name, names_.text(names_.number(row(), 8)));
  }

 private:
  const std::string_view object_;
  OpenaccNames names_;
};

}  // namespace

std::unique_ptr<TraceSource> openacc_source(Session& session, const OpenaccKind& kind) {
  return std::make_unique<OpenaccSource>(session, kind);
}

}  // namespace gpuprof::report
