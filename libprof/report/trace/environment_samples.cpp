#include <memory>
#include <string>

#include "libprof/read/blob.hpp"
#include "libprof/report/trace/source.hpp"
#include "schema/enums.hpp"

namespace gpuprof::report {
namespace {

// Clocks, temperature, power and fans.
class SystemSource : public TraceSource {
 public:
  explicit SystemSource(Session& session)
      : TraceSource(session, {.rows = {.kind = "ENVIRONMENT",
                                       .time = "timestamp",
                                       .valid = "timestamp > 0 AND length(data) = 20"},
                              .amounts = {}}) {
    auto damaged =
        session.select(kind(), {"1"}, "WHERE length(data) IS NOT 20 AND " + session.filter(kind()));
    while (damaged.step()) {
      session.skip("CUPTI_ACTIVITY_KIND_ENVIRONMENT with data that are not of 20 bytes");
    }
  }

 protected:
  std::vector<std::string_view> columns() override {
    return {"timestamp", "deviceId", "environmentKind", "data"};
  }
  void read() override {
    const auto data = row().blob(3);
    text(TraceField::kind, "environment");
    device(TraceField::device, integer(1));
    number(TraceField::device_id, integer(1));
    std::string* value = text(TraceField::system);
    value->clear();
    append_number(*value, reading::blob_field<std::uint32_t>(data, 0));
    const auto and_second = [&] {
      *value += '/';
      append_number(*value, reading::blob_field<std::uint32_t>(data, 4));
    };
    switch (integer(2)) {
      case schema::environment("speed"):
        and_second();
        return text(TraceField::name, "[SM/Memory Clock (MHz)]");
      case schema::environment("temperature"): return text(TraceField::name, "[Temperature (C)]");
      case schema::environment("power"):
        and_second();
        return text(TraceField::name, "[Power/Limit (mW)]");
      case schema::environment("cooling"): return text(TraceField::name, "[Fan Speed (%)]");
      default: return text(TraceField::name, "[Unknown]");
    }
  }
};

}  // namespace

std::unique_ptr<TraceSource> environment_source(Session& session) {
  return std::make_unique<SystemSource>(session);
}

}  // namespace gpuprof::report
