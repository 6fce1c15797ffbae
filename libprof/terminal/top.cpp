#include "libprof/terminal/top.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/report/number.hpp"
#include "libprof/report/paragraph.hpp"
#include "libprof/terminal/short_names.hpp"
#include "schema/traits.hpp"

namespace gpuprof::terminal {
namespace {

std::string rate(std::int64_t count, double seconds) {
  if (seconds <= 0) return "-";
  return std::to_string(std::llround(static_cast<double>(count) / seconds));
}

std::string duration(double ns) {
  return report::format_time(ns < 1e18 ? static_cast<std::uint64_t>(ns)
                                       : std::uint64_t{1'000'000'000'000'000'000});
}

}  // namespace

void Top::read_kind(store::Database& database, std::size_t place) {
  const schema::GpuKind& kind = schema::gpu_kinds[place];
  const std::string table = reading::table_name(kind.kind);
  reading::Tables tables(database);
  for (const std::string_view column :
       {std::string_view("_id_"), std::string_view("start"), kind.end}) {
    if (!tables.has(table, column)) return;
  }
  const std::string named_by = kind.named_by.empty() || !tables.has(table, kind.named_by)
                                   ? "0"
                                   : store::quoted_name(kind.named_by);
  const std::string end = store::quoted_name(kind.end);
  const std::string timed = "start > 0 AND " + end + " > start";
  auto rows = database.prepare("SELECT " + named_by + ", count(*) FILTER (WHERE " + timed +
                               "), total(" + end + " - start) FILTER (WHERE " + timed +
                               "), max(_id_), min(start) FILTER (WHERE " + timed + "), max(" + end +
                               ") FILTER (WHERE " + timed + ") FROM main." + table +
                               " WHERE _id_ > ?1 GROUP BY 1");
  std::int64_t& up_to = read_up_to_[table];
  rows.bind(1, up_to);
  std::int64_t last_id = up_to;
  while (rows.step()) {
    last_id = std::max(last_id, rows.integer(3));
    if (rows.integer(1) == 0) continue;
    for (Change* change :
         {&sums_[{place, rows.integer(0)}], kind.is_kernel() ? &kernels_ : &others_}) {
      for (Sum* sum : {&change->all, &change->fresh}) {
        sum->count += rows.integer(1);
        sum->time += rows.real(2);
      }
    }
    first_ = std::min(first_, rows.integer(4));
    last_ = std::max(last_, rows.integer(5));
  }
  up_to = last_id;
}

void Top::read_calls(store::Database& database) {
  fresh_calls_ = 0;
  reading::Tables tables(database);
  for (const schema::ApiKind& calls : schema::api_kinds) {
    const std::string table = reading::table_name(calls.kind);
    if (!tables.has(table, "_id_")) continue;
    std::int64_t& up_to = read_up_to_[table];
    auto rows =
        database.prepare("SELECT count(*), max(_id_) FROM main." + table + " WHERE _id_ > ?1");
    rows.bind(1, up_to);
    if (!rows.step() || rows.integer(0) == 0) continue;
    fresh_calls_ += rows.integer(0);
    up_to = std::max(up_to, rows.integer(1));
  }
  calls_ += fresh_calls_;
}

void Top::name_work(store::Database& database, std::size_t most) {
  std::vector<std::pair<double, Key>> order;
  for (const auto& [key, change] : sums_) order.emplace_back(change.all.time, key);
  const std::size_t shown = std::min(most, order.size());
  std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(shown),
                            std::greater{});
  reading::Names names(database, reading::NameStyle::display);
  work_.clear();
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& [place, id] = order[i].second;
    const Change& change = sums_.at(order[i].second);
    work_.push_back({names.gpu_work(schema::gpu_kinds[place], id), change.all, change.fresh});
  }
}

void Top::read(store::Database& database, std::size_t most, std::int64_t stalled_after) {
  for (auto& [key, change] : sums_) change.fresh = {};
  kernels_.fresh = others_.fresh = {};
  newest_ = read_newest(database, read_up_to_);
  for (std::size_t i = 0; i < schema::gpu_kinds.size(); ++i) read_kind(database, i);
  read_calls(database);
  reading::Tables tables(database);
  if (tables.has("STATISTIC", "severity") && tables.has("STATISTIC", "value")) {
    losses_ = database
                  .integer(
                      "SELECT count(*) FROM main.STATISTIC WHERE value > 0 "
                      "AND severity IN ('data_loss', 'error')")
                  .value_or(0);
  }
  name_work(database, most);
  stalled_ = stalled_work_.read(database, stalled_after);
}

std::string text(const Top& top, const std::string& title, double seconds, const Style& style) {
  std::string result = short_names(std::vector{title}, style.width, style.blocks)[0] + "\n";
  result += report::paragraph(
      "",
      std::to_string(top.kernels().count) + " kernels, " + std::to_string(top.others().count) +
          " copies and sets, " + std::to_string(top.calls()) + " API calls in " +
          duration(static_cast<double>(top.span())) + "; per second " +
          rate(top.fresh_kernels().count, seconds) + " kernels, " +
          rate(top.fresh_calls(), seconds) + " API calls; losses: " +
          (top.losses() ? std::to_string(top.losses()) + " (gpuprof info has them)"
                        : std::string("none")),
      style.width);
  for (const std::string& stalled : top.stalled()) {
    result += report::paragraph("", stalled, style.width);
  }
  if (const NewestWork& newest = top.newest(); newest.span > 0) {
    result += report::paragraph(
        "",
        "The newest " + duration(static_cast<double>(newest.span)) +
            (newest.gpus > 1 ? " of " + std::to_string(newest.gpus) + " GPUs:" : ":"),
        style.width);
    result += bar(newest.times, style.width, style) + "\n" + legend(newest.times, style);
  }
  result += '\n';
  const bool wide = style.width >= 60;
  const auto cells = [&](const std::string& time, const std::string& share,
                         const std::string& count, const std::string& fresh) {
    return report::right_aligned(time, 10) + report::right_aligned(share, 9) +
           (wide ? report::right_aligned(count, 12) + report::right_aligned(fresh, 10) : "") + "  ";
  };
  const std::string head = cells("time", "share", "count", "per s");
  result += head + "name\n";
  std::vector<std::string> names;
  for (const Top::Work& work : top.work()) names.push_back(work.name);
  names = short_names(names, style.width - head.size(), style.blocks);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Top::Work& work = top.work()[i];
    const double share = top.time() > 0 ? 100 * work.all.time / top.time() : 0;
    result += cells(duration(work.all.time), report::format_percent(share),
                    std::to_string(work.all.count), rate(work.fresh.count, seconds)) +
              names[i] + "\n";
  }
  const std::int64_t more = top.names() - static_cast<std::int64_t>(top.work().size());
  if (more > 0) result += "and " + std::to_string(more) + " more names\n";
  return result;
}

}  // namespace gpuprof::terminal
