#include <memory>
#include <string>

#include "libprof/report/trace/source.hpp"

namespace gpuprof::report {
namespace {

// Values of events and metrics at a point in time.
class InstantSource : public TraceSource {
 public:
  InstantSource(Session& session, const ValueTable& table)
      : TraceSource(session,
                    {.rows = {.kind = table.kind, .time = "timestamp", .valid = "timestamp > 0"},
                     .amounts = {}}),
        values_(table) {}

 protected:
  std::vector<std::string_view> columns() override {
    return {"timestamp", "deviceId", "id", "value", "flags", "instance"};
  }
  void read() override {
    text(TraceField::kind, "instantaneous");
    device(TraceField::device, integer(1));
    number(TraceField::device_id, integer(1));
    const auto row = value_row(values_, this->row(), 2);
    const TraceField field =
        values_.is_metric ? TraceField::instant_metric : TraceField::instant_event;
    if (!row) {
      session_.skip(table_name(kind()) + " with a value that is not of 8 bytes");
      nothing(field);
      return text(TraceField::name, "");
    }
    std::string name = row->measure.name();
    if (values_.has_instances) {
      name += " [instance " + std::to_string(row->measure.instance) + "]";
      if (session_.output().csv()) name += ' ';  // as in nvprof's output
    }
    text(TraceField::name, name);
    Cell* value = cell(field);
    const MetricKind kind = row->measure.kind();
    if (!value) return;
    const auto* count = std::get_if<std::uint64_t>(&row->value);
    if (row->overflow || row->invalid) {
      *value = row->overflow ? "<OVERFLOW>" : "<INVALID>";
    } else if (session_.output().text() || kind == MetricKind::utilization ||
               (count && kind == MetricKind::throughput && session_.output().csv())) {
      *value = value_text(kind, row->value, !session_.output().text(), "-", 40);
    } else if (count) {
      *value = static_cast<std::int64_t>(*count);
    } else if (const auto* real = std::get_if<double>(&row->value)) {
      *value = *real;
    }
  }

 private:
  const ValueTable& values_;
};

}  // namespace

std::unique_ptr<TraceSource> instant_source(Session& session, const ValueTable& table) {
  return std::make_unique<InstantSource>(session, table);
}

}  // namespace gpuprof::report
