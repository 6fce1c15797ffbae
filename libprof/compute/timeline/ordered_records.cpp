#include "libprof/compute/timeline/ordered_records.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/read/columns/ordered_rows.hpp"

namespace gpuprof::timeline {

class OrderedRecords::Source {
 public:
  // Integer columns of a table.
  Source(store::Snapshot& snapshot, const RecordTable& table,
         const std::function<void(const columns::Chunk&)>& look)
      : kind_(table.kind),
        keys_(table.key.size()),
        named_(!table.named_by.empty()),
        rows_(snapshot, {.table = table.name, .columns = list(table)}, {table.begin, table.end},
              look) {}
  // Rows that must be joined, or that end with the run, sorted by SQLite.
  Source(store::Database& database, const RecordTable& table, std::int64_t open_until)
      : kind_(table.kind),
        keys_(table.key.size()),
        named_(!table.named_by.empty()),
        rows_(select(database, table, open_until)) {}

  std::size_t bytes() const { return rows_.bytes(); }
  // False: no more records.
  bool next() {
    do {
      if (!rows_.next()) return false;
    } while (!has_times(kind_, rows_[0], rows_[1]));
    record.begin = rows_[0];
    record.end = rows_[1];
    record.id = rows_[2];
    for (std::size_t i = 0; i < keys_; ++i) record.key[i] = rows_[3 + i];
    if (named_) record.name = rows_[3 + keys_];
    return true;
  }

  Record record;

 private:
  static std::vector<std::string> list(const RecordTable& table) {
    std::vector<std::string> columns{table.begin, table.end, table.id};
    columns.insert(columns.end(), table.key.begin(), table.key.end());
    if (!table.named_by.empty()) columns.push_back(table.named_by);
    return columns;
  }
  static store::Statement select(store::Database& database, const RecordTable& table,
                                 std::int64_t open_until) {
    std::vector<std::string> columns = list(table);
    if (table.may_be_open) columns[1] = "coalesce(" + table.end + ", max(" + table.begin + ", ?1))";
    store::Statement rows = database.prepare(
        "SELECT " + joined(columns, ", ") + " FROM " +
        (table.from.empty() ? "main." + table.name : table.from) + " ORDER BY 1, 2 DESC, 3");
    if (table.may_be_open) rows.bind(1, open_until);
    return rows;
  }

  const TrackKind kind_;
  const std::size_t keys_;
  const bool named_;
  columns::OrderedRows rows_;
};

OrderedRecords::OrderedRecords(store::Snapshot& snapshot, const std::vector<RecordTable>& tables,
                               std::function<void()> check)
    : check_(std::move(check)), sources_(tables.size()), without_times_(tables.size()) {
  std::size_t waiting = 0;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    const RecordTable& table = tables[i];
    if (!table.from.empty() || table.may_be_open) continue;
    auto source = std::make_unique<Source>(snapshot, table, [&, i](const columns::Chunk& chunk) {
      check_();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        const std::int64_t end = columns::whole(chunk[1], row);
        if (has_times(table.kind, columns::whole(chunk[0], row), end)) {
          latest_ = std::max(latest_, end);
        } else if (table.kind == TrackKind::stream) {
          ++without_times_[i];
        }
      }
    });
    waiting += source->bytes();
    sources_[i] = std::move(source);
  }
  possible_ = waiting <= most_waiting;
  if (!possible_) return;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    if (sources_[i]) continue;
    check_();
    sources_[i] = std::make_unique<Source>(snapshot.database(), tables[i], latest_);
  }
}

OrderedRecords::~OrderedRecords() = default;

const Record& OrderedRecords::record() const { return sources_[current_]->record; }

bool OrderedRecords::is_before(std::size_t a, std::size_t b) const {
  if (!sources_[a] || !sources_[b]) return sources_[a] != nullptr;
  const Record &one = sources_[a]->record, &other = sources_[b]->record;
  if (one.begin != other.begin) return one.begin < other.begin;
  return one.end != other.end ? one.end > other.end : a < b;
}

void OrderedRecords::choose() {
  current_ = 0;
  for (std::size_t i = 1; i < sources_.size(); ++i) {
    if (is_before(i, current_)) current_ = i;
  }
  second_ = current_ == 0 ? sources_.size() - 1 : 0;
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    if (i != current_ && is_before(i, second_)) second_ = i;
  }
}

bool OrderedRecords::next() {
  if (sources_.empty()) return false;
  if (++visited_ % 65536 == 0) check_();
  if (!std::exchange(begun_, true)) {
    for (auto& source : sources_) {
      if (!source->next()) source.reset();
    }
    choose();
  } else {
    if (!sources_[current_]->next()) sources_[current_].reset();
    if (second_ != current_ && !is_before(current_, second_)) choose();
  }
  return sources_[current_] != nullptr;
}

}  // namespace gpuprof::timeline
