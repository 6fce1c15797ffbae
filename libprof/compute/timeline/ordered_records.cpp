#include "libprof/compute/timeline/ordered_records.hpp"

#include <algorithm>
#include <utility>

#include "libprof/read/columns/ordered_rows.hpp"

namespace gpuprof::timeline {

class OrderedRecords::Source {
 public:
  // Integer columns of a table.
  Source(store::Snapshot& snapshot, const RecordTable& table,
         const std::function<void(const columns::Chunk&)>& look)
      : table_(table),
        rows_(snapshot, {.table = table.name, .columns = columns_of(table)},
              columns::Ties::outer_first, {table.begin, table.end}, look) {}
  // Rows that must be joined, or that end with the run, sorted by SQLite.
  Source(store::Database& database, const RecordTable& table, std::int64_t open_until)
      : table_(table),
        rows_(database.prepare(select(table, open_until) + " ORDER BY 1, 2 DESC, 3")) {}

  std::size_t bytes() const { return rows_.bytes(); }
  bool next() {
    do {
      if (!rows_.next()) return false;
    } while (!has_times(table_.kind, rows_[0], rows_[1]));
    record.begin = rows_[0];
    record.end = rows_[1];
    record.id = rows_[2];
    const std::size_t keys = table_.key.size();
    for (std::size_t i = 0; i < keys; ++i) record.key[i] = rows_[3 + i];
    if (!table_.named_by.empty()) record.name = rows_[3 + keys];
    return true;
  }
  bool is_before(const Source& other) const {
    const Record& its = other.record;
    return record.begin != its.begin ? record.begin < its.begin : record.end > its.end;
  }

  Record record;

 private:
  const RecordTable& table_;
  columns::OrderedRows rows_;
};

OrderedRecords::OrderedRecords(store::Snapshot& snapshot, const std::vector<RecordTable>& tables,
                               std::function<void()> check)
    : check_(std::move(check)), without_times_(tables.size()) {
  std::vector<std::unique_ptr<Source>> sources(tables.size());
  std::size_t waiting = 0;
  std::int64_t latest = 1;  // end
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const RecordTable& table = tables[i];
    if (!table.from.empty() || table.may_be_open) continue;
    sources[i] = std::make_unique<Source>(snapshot, table, [&, i](const columns::Chunk& chunk) {
      check_();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        const std::int64_t end = columns::whole(chunk[1], row);
        if (has_times(table.kind, columns::whole(chunk[0], row), end)) {
          latest = std::max(latest, end);
        } else if (table.kind == TrackKind::stream) {
          ++without_times_[i];
        }
      }
    });
    waiting += sources[i]->bytes();
  }
  possible_ = waiting <= columns::OrderedRows::most_waiting;
  if (!possible_) return;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    check_();
    if (!sources[i]) sources[i] = std::make_unique<Source>(snapshot.database(), tables[i], latest);
    sources_.add(std::move(sources[i]));
  }
}

OrderedRecords::~OrderedRecords() = default;

const Record& OrderedRecords::record() const { return sources_.current()->record; }

bool OrderedRecords::next() {
  if (++visited_ % 65536 == 0) check_();
  return sources_.next() != nullptr;
}

}  // namespace gpuprof::timeline
