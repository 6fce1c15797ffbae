// The row sources of a trace: one per table, which fills the cells of its current row.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/read/timed_rows.hpp"
#include "libprof/report/directives.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/report_table.hpp"
#include "libprof/report/session.hpp"
#include "libprof/report/trace.hpp"
#include "libprof/store/sqlite.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {

using Amounts = std::vector<std::pair<TraceField, std::string>>;

template <typename Number>
void append_number(std::string& text, Number number, int base = 10) {
  std::array<char, 24> digits{};
  text.append(digits.data(),
              std::to_chars(digits.data(), digits.data() + digits.size(), number, base).ptr);
}

// CUpti_ActivityMemoryKind; empty if unknown.
inline std::string_view memory_name(std::int64_t kind) {
  static constexpr std::array<std::string_view, 6> names{"Unknown", "Pageable", "Pinned",
                                                         "Device",  "Array",    "Managed"};
  const bool known = kind >= 0 && kind < static_cast<std::int64_t>(names.size());
  return known ? names[static_cast<std::size_t>(kind)] : std::string_view();
}

// What a source reads.
struct TraceTable {
  reading::TimedTable rows;
  Amounts amounts;          // columns that units depend on, in addition to the start
  int correlation_id = -1;  // index in the SELECT
};

// The rows of one table, with the cells of the current row.
class TraceSource : public reading::TimedRows {
 public:
  TraceSource(Session& session, TraceTable table)
      : TimedRows(session, std::move(table.rows)),
        session_(session),
        amounts_(std::move(table.amounts)),
        correlation_id_(table.correlation_id) {}

  const Amounts& amounts() const { return amounts_; }
  bool is_kernel() const { return schema::is_kernel_kind(kind()); }

  // Must be called before begin().
  void show(const std::vector<TraceColumn>& columns) {
    places_.fill(-1);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      places_[static_cast<std::size_t>(columns[i].field)] = static_cast<int>(i);
    }
    cells_.resize(columns.size());
  }
  std::int64_t correlation_id() const { return correlation_id_ < 0 ? 0 : integer(correlation_id_); }
  void fill(std::int64_t origin) {
    number(TraceField::start, saturating_subtract(start(), origin));
    number(TraceField::absolute_start, start());
    if (correlation_id_ >= 0) number(TraceField::correlation_id, correlation_id());
    read();
  }
  std::span<const Cell> cells() const { return cells_; }

 protected:
  // Fills the row's cells. A source must set the same cells in every row, or reset all of them.
  virtual void read() = 0;

  // The column of a field; none if it is not shown, because rows wait for their turn.
  std::string_view shown(TraceField field, std::string_view column) {
    return cell(field) ? column : std::string_view();
  }

  Cell* cell(TraceField field) {
    const int place = places_[static_cast<std::size_t>(field)];
    return place < 0 ? nullptr : &cells_[static_cast<std::size_t>(place)];
  }
  void nothing(TraceField field) {
    if (Cell* cell = this->cell(field)) *cell = std::monostate{};
  }
  void number(TraceField field, std::int64_t value) {
    if (Cell* cell = this->cell(field)) *cell = value;
  }
  // Leaves the cell empty if the column is NULL.
  void known(TraceField field, int column) {
    is_null(column) ? nothing(field) : number(field, integer(column));
  }
  void dimensions(TraceField field, int column) {
    if (Cell* cell = this->cell(field)) {
      *cell = Dimensions{integer(column), integer(column + 1), integer(column + 2)};
    }
  }
  // The cell's own string, so that its memory is reused for the next row.
  std::string* text(TraceField field) {
    Cell* cell = this->cell(field);
    if (!cell) return nullptr;
    auto* text = std::get_if<std::string>(cell);
    return text ? text : &cell->emplace<std::string>();
  }
  void text(TraceField field, std::string_view value) {
    if (std::string* text = this->text(field)) text->assign(value);
  }
  void devices(TraceField field, std::string_view names) {
    text(field, session_.output().text() ? names.substr(0, 15) : names);
  }
  void device(TraceField field, std::int64_t id) {
    if (cell(field)) devices(field, session_.names().device(id));
  }
  void context(TraceField field, std::int64_t device_id, std::int64_t id) {
    if (std::string* text = this->text(field)) *text = session_.names().context(device_id, id);
  }
  void memory(TraceField field, std::int64_t kind) {
    const std::string_view name = memory_name(kind);
    name.empty() ? nothing(field) : text(field, name);
  }
  // Old files do not have it (0).
  void process(std::int64_t id) {
    id ? number(TraceField::process_id, id) : nothing(TraceField::process_id);
  }
  void duration(std::int64_t end) {
    number(TraceField::duration, saturating_subtract(end, start()));
  }
  // Device, context and stream must be consecutive columns.
  void place(int column) {
    const std::int64_t device_id = integer(column), context_id = integer(column + 1);
    device(TraceField::device, device_id);
    number(TraceField::device_id, device_id);
    context(TraceField::context, device_id, context_id);
    if (std::string* text = this->text(TraceField::stream)) {
      *text = session_.names().stream(device_id, context_id, integer(column + 2));
    }
  }

  Session& session_;

 private:
  const Amounts amounts_;
  const int correlation_id_;
  std::array<int, static_cast<std::size_t>(TraceField::count)> places_{};
  std::vector<Cell> cells_;
};

// Each is a file in this folder.
std::unique_ptr<TraceSource> work_source(Session& session, const schema::GpuKind& work);
// Calls of the runtime and of the driver.
std::vector<std::unique_ptr<TraceSource>> api_sources(Session& session);
std::unique_ptr<TraceSource> marker_source(Session& session);
std::unique_ptr<TraceSource> openacc_source(Session& session, const OpenaccKind& kind);
std::unique_ptr<TraceSource> unified_memory_source(Session& session);
std::unique_ptr<TraceSource> environment_source(Session& session);
// Values of events and metrics at a point in time.
std::unique_ptr<TraceSource> instant_source(Session& session, const ValueTable& table);

}  // namespace gpuprof::report
