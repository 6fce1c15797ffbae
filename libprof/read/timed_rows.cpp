#include "libprof/read/timed_rows.hpp"

#include "schema/traits.hpp"

namespace gpuprof::reading {

TimedRows::TimedRows(Profile& profile, TimedTable table)
    : profile_(profile), table_(std::move(table)) {
  if (!table_.valid.empty()) return;
  table_.valid = valid_times(kind());
  takes_time_ = table_.integers && schema::is_gpu_kind(kind());
}

void TimedRows::begin() {
  const std::string table = table_name(kind());
  profile_.progress("sorting " + table);
  const columns::TableInfo* known = columns::find_table(table);
  std::vector<std::string_view> columns;
  for (const std::string_view column : this->columns()) {
    const bool there = !table_.integers || (!column.empty() && profile_.has_column(kind(), column));
    places_.push_back(there ? columns.size() : absent);
    if (!there) continue;
    columns.push_back(column);
    if (known && !known->find(column)) known = nullptr;
  }
  if (table_.integers && known) {
    const auto wanted = profile_.wanted_rows(kind());
    if (!wanted) return;
    rows_.emplace(
        profile_.snapshot(),
        columns::Request{
            .table = table, .columns = {columns.begin(), columns.end()}, .filter = *wanted},
        *table_.integers, table_.looked_at, table_.look);
    if (rows_->bytes() <= table_.most_waiting) return;
  }
  rows_.emplace(select(columns));
}

store::Statement TimedRows::select(const std::vector<std::string_view>& columns) {
  const bool outer_first = table_.integers == columns::Ties::outer_first;
  return profile_.select(
      kind(), columns,
      where() + " ORDER BY " + std::string(time()) + (outer_first ? ", 2 DESC" : ""));
}

bool TimedRows::next() {
  do {
    if (!rows_ || !rows_->next()) return false;
    start_ = (*rows_)[0];
  } while (takes_time_ && integer(1) == start_);
  return true;
}

}  // namespace gpuprof::reading
