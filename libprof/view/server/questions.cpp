#include "libprof/view/server/questions.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "libprof/base/error.hpp"
#include "libprof/base/json_text.hpp"
#include "libprof/base/utf8.hpp"
#include "libprof/view/model/answers.hpp"

namespace gpuprof::view {
namespace {

using nlohmann::json;
using store::Statement;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t longest_column_name = 200;                     // bytes
constexpr std::int64_t exact_in_json = (std::int64_t{1} << 53) - 1;  // in both signs

json cell(const Statement& row, int column, std::size_t longest) {
  switch (row.type(column)) {
    case Statement::Type::null: return nullptr;
    case Statement::Type::integer: {
      const std::int64_t value = row.integer(column);
      if (value >= -exact_in_json && value <= exact_in_json) return value;
      return {{"exact", std::to_string(value)}};
    }
    case Statement::Type::real: {
      const double value = row.real(column);
      if (std::isfinite(value)) return value;
      return {{"exact", value > 0 ? "Infinity" : "-Infinity"}};  // SQLite has no NaN
    }
    case Statement::Type::blob: return {{"blob", row.blob(column).size()}};
    case Statement::Type::text: break;
  }
  const std::string_view text = row.text(column);
  if (text.size() <= longest) return valid_utf8(text);
  return {{"cut", shortened(text, longest)}, {"of", text.size()}};
}

}  // namespace

std::string too_long(const QuestionLimits& limits) {
  return "it took longer than " + std::to_string(limits.time.count() / 1000) + " s and was ended";
}

std::string rows_answer(store::Database& database, std::int64_t zero, std::string_view sql,
                        const std::function<bool()>& is_over, const QuestionLimits& limits) {
  const auto until = SteadyClock::now() + limits.time;
  const auto is_late = [&] { return SteadyClock::now() > until; };
  database.watch([&] { return is_over() || is_late(); });
  std::string rows, ends_by;
  json columns = json::array();
  try {
    Statement row = database.ask(sql, true);
    for (int i = 0; i < row.column_count(); ++i) {
      columns.push_back(shortened(row.column_name(i), longest_column_name));
    }
    for (std::size_t count = 0; row.step(); ++count) {
      if (count == limits.rows) {
        ends_by = "rows";
        break;
      }
      const std::size_t before = rows.size();
      rows += count > 0 ? ",[" : "[";
      for (int i = 0; i < row.column_count() && rows.size() <= limits.bytes; ++i) {
        if (i > 0) rows += ',';
        rows += json_text(cell(row, i, limits.cell));
      }
      rows += ']';
      database.check_watch();
      if (rows.size() > limits.bytes) {
        rows.resize(before);
        ends_by = "bytes";
        break;
      }
    }
  } catch (const store::DatabaseError& error) {
    if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
    throw Error(is_late() ? too_long(limits) : ended_for_another);
  }
  return "{\"zero\":\"" + std::to_string(zero) + "\",\"ends_by\":" + json_text(json(ends_by)) +
         ",\"columns\":" + json_text(columns) + ",\"rows\":[" + rows + "]}";
}

}  // namespace gpuprof::view
