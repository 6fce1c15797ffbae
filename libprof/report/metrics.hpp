// Stored values of events and metrics: what their ids mean, how they print, and their kernels.
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

// What was measured. Sorts in nvprof's print order: events before metrics, each by id; a value of
// the whole device before those of its instances. Measures without an nvprof id come last.
struct Measure {
  bool is_metric = false;
  std::int64_t id = 0;
  std::int64_t instance = -1;          // -1: the whole device
  const NamedMetric* named = nullptr;  // owned by the session; id is then METRIC._id_
  auto operator<=>(const Measure& other) const { return order() <=> other.order(); }
  bool operator==(const Measure& other) const { return order() == other.order(); }

  std::string name() const;  // "<metric 7>" or "<event 7>" if the id is unknown
  std::string_view description() const;
  MetricKind kind() const;
  std::string_view unit() const;  // if the kind does not imply it; may be empty

 private:
  std::tuple<bool, bool, std::int64_t, std::int64_t> order() const {
    return {is_metric, named != nullptr, id, instance};
  }
};

// monostate: no value, or a value of unknown kind.
using Value = std::variant<std::monostate, std::uint64_t, double>;

// A value of METRIC_VALUE in nvprof's form, which has infinities and NaN only if `kind` is a
// double; monostate: not such a number.
Value stored_value(MetricKind kind, double value);

// "126.48GB/s", "Low (3)", "44.30%" in a column of `width`; in CSV with six decimals. `nothing` if
// there is no value.
std::string value_text(MetricKind kind, const Value& value, bool csv, std::string_view nothing,
                       int width = 10);

// One row of table EVENT, METRIC, EVENT_INSTANCE, METRIC_INSTANCE or INSTANTANEOUS_*.
struct ValueRow {
  Measure measure;
  Value value = {};
  bool overflow = false;
  bool invalid = false;
};

// A table of values: its name without "CUPTI_ACTIVITY_KIND_" and its contents. For our own table
// METRIC_VALUE: the values without an nvprof id.
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

// Reads the columns id, value, flags, instance of a row of nvprof's tables, starting at `column`.
// Returns nullopt if the value has an unexpected size.
std::optional<ValueRow> value_row(const ValueTable& table, const store::Statement& row, int column);

// The rows of one table of values. Not thread-safe.
class ValueCursor {
 public:
  // `key` is the column with the owner of a value; `rest` follows FROM. `tells`: report unreadable
  // rows to the session.
  ValueCursor(Session& session, const ValueTable& table, std::string_view key,
              const std::string& rest = {}, bool tells = true);

  void next();
  // Restarts with this parameter of `rest`. Unreadable rows are not reported again.
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

// nvprof's text for values without a kernel.
inline constexpr std::string_view without_kernel_text =
    "Some events/metrics can't be associated with any kernel.";

// Whether the file has any values, values of kernels, and (below) values at points in time.
bool has_values(Session& session);
bool has_kernel_values(Session& session);
// Whether anything but kernels was traced.
bool has_other_records(Session& session);
bool has_device_values(Session& session);

// Visits every value of a kernel that passes the session's filter, in order of correlation id.
// Returns the number of values without a kernel. Memory does not depend on the number of rows.
std::int64_t read_kernel_values(
    Session& session, const std::function<void(const MeasuredKernel&, const ValueRow&)>& use,
    bool tells = true);

// Visits values at a point in time (INSTANTANEOUS_*), which belong to a device.
void read_device_values(Session& session,
                        const std::function<void(std::int64_t device, const ValueRow&)>& use);

// Visits every value of a kernel, in table order.
void scan_kernel_values(Session& session, const std::function<void(const ValueRow&)>& use);

// Finds the values of one kernel at a time. A table without an index on correlation ids is copied
// into an indexed temporary table.
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
