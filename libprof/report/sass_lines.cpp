#include "libprof/report/sass_lines.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "libprof/base/saturating.hpp"

namespace gpuprof::report {
namespace {

struct SassTable {
  SassSection section;
  std::string_view kind;
  std::string_view counted;
  std::string_view beside;
};
constexpr std::array sources{
    SassTable{SassSection::instructions, "INSTRUCTION_EXECUTION", "threadsExecuted",
              "notPredOffThreadsExecuted"},
    SassTable{SassSection::branches, "BRANCH", "diverged", "0"},
    SassTable{SassSection::global_accesses, "GLOBAL_ACCESS", "l2_transactions",
              "theoreticalL2Transactions"},
    SassTable{SassSection::shared_accesses, "SHARED_ACCESS", "sharedTransactions",
              "theoreticalSharedTransactions"},
};

}  // namespace

void SassCounts::add(const SassCounts& more) {
  there = true;
  executed = saturating_add(executed, more.executed);
  counted = saturating_add(counted, more.counted);
  beside = saturating_add(beside, more.beside);
}

std::int64_t SassPlace::weight(SassSection section) const {
  const SassCounts& counts = of(section);
  switch (section) {
    case SassSection::instructions: return counts.executed;
    case SassSection::branches: return counts.counted;
    case SassSection::global_accesses:
    case SassSection::shared_accesses: break;
  }
  return counts.excess();
}

std::vector<const std::pair<const SourcePlace, SassPlace>*> SassFunction::order(
    SassSection section) const {
  std::vector<const std::pair<const SourcePlace, SassPlace>*> order;
  for (const auto& place : places) {
    if (place.second.of(section).there) order.push_back(&place);
  }
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](const auto* place) { return place->second.weight(section); });
  return order;
}

SassLines::SassLines(Session& session) {
  FunctionNames names(session);
  const SourcePlaces places(session);
  std::map<std::int64_t, SassFunction> found;  // by name
  for (const SassTable& source : sources) {
    const std::string table = reading::table_name(source.kind);
    session.output().progress("reading " + table);
    auto rows =
        session.select(source.kind, {"processId", "functionId", "sourceLocatorId", "pcOffset",
                                     "executed", source.counted, source.beside});
    while (rows.step()) {
      SassCounts counts{true, rows.integer(4), rows.integer(5), rows.integer(6)};
      if (counts.executed < 0 || counts.counted < 0 || counts.beside < 0) {
        session.skip(table + " with a number below 0");
        continue;
      }
      const std::int64_t name = names.name(rows.integer(0), rows.integer(1));
      if (!names.wanted(name)) continue;
      SassFunction& function = found[name];
      function.name = name;
      const auto section = static_cast<std::size_t>(source.section);
      const SourcePlace place = places.find(rows.integer(2), rows.integer(3));
      function.places[place].sections[section].add(counts);
      function.all.sections[section].add(counts);
      if (source.section == SassSection::instructions) {
        executed_ = saturating_add(executed_, counts.executed);
      }
    }
  }
  for (auto& [name, function] : found) functions_.push_back(std::move(function));
  std::ranges::stable_sort(functions_, std::ranges::greater(), [](const SassFunction& function) {
    return function.all.of(SassSection::instructions).executed;
  });
}

bool has_sass_metrics(Session& session) {
  return std::ranges::any_of(
      sources, [&](const SassTable& source) { return session.has_rows(source.kind); });
}

}  // namespace gpuprof::report
