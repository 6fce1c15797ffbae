#include "libprof/report/totals.hpp"

#include <unordered_map>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/read/columns/reader.hpp"

namespace gpuprof::report {
namespace {

// The sums of one thread.
struct PartOfTotals {
  // Keys are nearly always ids counted from 0.
  static constexpr std::uint64_t most_small = 1 << 16;

  std::vector<Total> small;
  std::unordered_map<std::int64_t, Total> others;
  Oddities odd;

  Total& total(std::int64_t key) {
    if (static_cast<std::uint64_t>(key) >= small.size()) {
      if (static_cast<std::uint64_t>(key) >= most_small) return others[key];
      small.resize(static_cast<std::size_t>(key) + 1);
    }
    return small[static_cast<std::size_t>(key)];
  }
};

class Adding {
 public:
  Adding(Validity validity, bool durations) : validity_(validity), durations_(durations) {}

  void operator()(PartOfTotals& part, const columns::Chunk& chunk) const {
    if (chunk.column_count() < 3) return add(part, chunk, [](std::size_t) { return 0; });
    if (const auto keys = chunk[2].int64s(); !keys.empty()) return add(part, chunk, keys.data());
    add(part, chunk, chunk[2].int32s().data());
  }

 private:
  static std::int64_t at(const auto* keys, std::size_t row) { return keys[row]; }
  static std::int64_t at(const auto& key, std::size_t row) { return key(row); }

  template <class Keys>
  void add(PartOfTotals& part, const columns::Chunk& chunk, Keys keys) const {
    const auto starts = chunk[0].int64s(), ends = chunk[1].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t start = starts[row], end = ends[row];
      const bool call = validity_ == Validity::api_call;
      if (start > 0 && (end > start || (call && end == start))) {
        Total& total = part.total(at(keys, row));
        total.add(end - start);
        if (durations_) total.durations.push_back(end - start);
        part.odd.instant += end == start;
      } else if (!call && (start == 0 || end == 0)) {
        ++part.odd.without_times;
      } else {
        ++part.odd.invalid;
      }
    }
  }

  Validity validity_;
  bool durations_;
};

}  // namespace

Totals read_totals(Session& session, std::string_view kind, std::string_view key,
                   Validity validity) {
  Totals totals;
  const auto wanted = session.wanted_rows(kind);
  if (!session.has(kind)) return totals;
  Oddities odd;
  if (wanted) {
    const std::string table = table_name(kind);
    session.output().progress("reading " + table);
    const bool has_end = columns::find_table(table)->find("end") != nullptr;
    columns::Request request{
        .table = table, .columns = {"start", has_end ? "end" : "stop"}, .filter = *wanted};
    if (!key.empty()) request.columns.emplace_back(key);
    columns::Reader reader(session.snapshot(), request);
    for (const PartOfTotals& part :
         reader.scan<PartOfTotals>(Adding(validity, session.options().statistics))) {
      for (std::size_t i = 0; i < part.small.size(); ++i) {
        if (part.small[i].calls > 0) totals[static_cast<std::int64_t>(i)].add(part.small[i]);
      }
      for (const auto& [value, total] : part.others) totals[value].add(total);
      odd.without_times += part.odd.without_times;
      odd.invalid += part.odd.invalid;
      odd.instant += part.odd.instant;
    }
  }
  session.counted(kind, odd);
  return totals;
}

}  // namespace gpuprof::report
