// Stored values of events and metrics: what their ids mean, how they print, and which kernel each
// belongs to.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "libprof/report/measured_kernels.hpp"
#include "libprof/report/session.hpp"
#include "schema/metric_kind.hpp"

namespace gpuprof::report {

using schema::MetricKind;

// What was measured. Sorts as nvprof prints: events before metrics, each by id; one value of the
// whole device before those of its instances. Those without an id of nvprof's follow.
struct Measure {
  bool is_metric = false;
  std::int64_t id = 0;
  std::int64_t instance = -1;          // -1: the whole device
  const NamedMetric* named = nullptr;  // the session's; then id is METRIC._id_
  auto operator<=>(const Measure& other) const { return order() <=> other.order(); }
  bool operator==(const Measure& other) const { return order() == other.order(); }

  std::string name() const;  // "<metric 7>", "<event 7>" if there is no such id
  std::string_view description() const;
  MetricKind kind() const;
  std::string_view unit() const;  // where the kind does not say it; may be empty

 private:
  std::tuple<bool, bool, std::int64_t, std::int64_t> order() const {
    return {is_metric, named != nullptr, id, instance};
  }
};

// monostate: there is none, or its kind is unknown.
using Value = std::variant<std::monostate, std::uint64_t, double>;

// As METRIC_VALUE has it; none: it is no number that nvprof could store.
Value stored_value(MetricKind kind, double value);

// "126.48GB/s", "Low (3)", "44.30%" in a column of `width`; in CSV with six decimals. No value:
// `nothing`.
std::string value_text(MetricKind kind, const Value& value, bool csv, std::string_view nothing,
                       int width = 10);

// One row of the tables EVENT, METRIC, EVENT_INSTANCE, METRIC_INSTANCE or INSTANTANEOUS_*.
struct ValueRow {
  Measure measure;
  Value value = {};
  bool overflow = false;
  bool invalid = false;
};

// A table of values: its name without "CUPTI_ACTIVITY_KIND_" and what it holds. Of our own table
// METRIC_VALUE it is the values that nvprof has no id for.
struct ValueTable {
  std::string_view kind;
  bool is_metric;
  bool has_instances;
  bool is_ours = false;
};
inline constexpr std::array kernel_value_tables{
    ValueTable{"EVENT", false, false}, ValueTable{"METRIC", true, false},
    ValueTable{"EVENT_INSTANCE", false, true}, ValueTable{"METRIC_INSTANCE", true, true},
    ValueTable{"METRIC_VALUE", true, false, true}};
inline constexpr std::array device_value_tables{
    ValueTable{"INSTANTANEOUS_EVENT", false, false},
    ValueTable{"INSTANTANEOUS_METRIC", true, false},
    ValueTable{"INSTANTANEOUS_EVENT_INSTANCE", false, true},
    ValueTable{"INSTANTANEOUS_METRIC_INSTANCE", true, true}};

// The columns id, value, flags, instance of a row of nvprof's, which begin at `column`. Nothing:
// the value has another size.
std::optional<ValueRow> value_row(const ValueTable& table, const store::Statement& row, int column);

// The rows of one table of values. Belongs to one thread.
class ValueCursor {
 public:
  // `key` is the column that says whom a value belongs to, `rest` what follows FROM. `tells`: rows
  // that cannot be read are told to the session.
  ValueCursor(Session& session, const ValueTable& table, std::string_view key,
              const std::string& rest = {}, bool tells = true);

  void next();
  // Starts again with this parameter of `rest`; what cannot be read was told before.
  void restart(std::int64_t parameter);
  bool there() const { return there_; }
  std::int64_t key() const { return rows_.integer(0); }
  const ValueRow& row() const { return row_; }

 private:
  bool read();

  Session& session_;
  const ValueTable& table_;
  store::Statement rows_;
  bool there_ = false;
  bool tells_;
  ValueRow row_;
};

// nvprof's words for such.
inline constexpr std::string_view without_kernel_text =
    "Some events/metrics can't be associated with any kernel.";

// Whether the file has values at all, such of kernels, such at points in time.
bool has_values(Session& session);
bool has_kernel_values(Session& session);
// Whether something else was traced than kernels.
bool has_other_records(Session& session);
bool has_device_values(Session& session);

// Every value of a kernel that passes the session's filter, in the order of correlation ids.
// Returns how many values have no kernel. Memory does not depend on the number of rows.
std::int64_t read_kernel_values(
    Session& session, const std::function<void(const MeasuredKernel&, const ValueRow&)>& use,
    bool tells = true);

// Values at a point in time, INSTANTANEOUS_*: they belong to a device.
void read_device_values(Session& session,
                        const std::function<void(std::int64_t device, const ValueRow&)>& use);

// Every value of a kernel, in the order of the tables.
void scan_kernel_values(Session& session, const std::function<void(const ValueRow&)>& use);

// Finds the values of one kernel after the other. A table without an index on correlation ids is
// copied into a temporary one that has it, for as long as this lives.
class ValuesOfKernel {
 public:
  explicit ValuesOfKernel(Session& session);
  ~ValuesOfKernel();
  ValuesOfKernel(const ValuesOfKernel&) = delete;
  ValuesOfKernel& operator=(const ValuesOfKernel&) = delete;

  void find(std::int64_t correlation_id, const std::function<void(const ValueRow&)>& use);

 private:
  Session& session_;
  std::vector<std::string> copies_;
  std::vector<ValueCursor> cursors_;
};

}  // namespace gpuprof::report
