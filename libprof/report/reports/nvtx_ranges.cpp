// "NVTX result:": for each range, the calls made in it and what they did on the GPU. Threads
// without ranges, such as autograd's, launch in the range that LAUNCH_RANGE names; nvprof's files
// lack that table.
#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

#include "libprof/report/all_reports.hpp"
#include "libprof/report/directives.hpp"
#include "libprof/report/nvtx.hpp"

namespace gpuprof::report {
namespace {

enum Part : std::size_t { gpu, api, openacc, openmp, part_count };

constexpr std::array<const Report*, part_count> sections{&gpu_activities, &api_calls,
                                                         &openacc_summary, &openmp_summary};

// Numbers the row names of the sections.
class Labels {
 public:
  using Label = std::pair<Part, std::string>;

  // `id` identifies the name within its type; make() returns the name.
  template <typename Make>
  std::uint32_t number(Part part, std::string_view type, std::int64_t id, Make&& make) {
    const auto [place, is_new] = numbers_[type].try_emplace(id);
    if (is_new) {
      // Several functions print alike.
      const auto [label, new_label] =
          labels_.try_emplace(Label(part, make()), static_cast<std::uint32_t>(by_number_.size()));
      if (new_label) by_number_.push_back(&label->first);
      place->second = label->second;
    }
    return place->second;
  }
  const Label& operator[](std::uint32_t number) const { return *by_number_[number]; }

 private:
  std::map<std::string_view, std::unordered_map<std::int64_t, std::uint32_t>> numbers_;
  std::map<Label, std::uint32_t> labels_;
  std::vector<const Label*> by_number_;
};

class RangeSummaries {
 public:
  RangeSummaries(Session& session, NvtxRanges& ranges) : session_(session), ranges_(ranges) {
    for (std::size_t i = 0; i < part_count; ++i) shown_[i] = shows_section(session, *sections[i]);
    if (shown_[gpu] || shown_[api]) {
      read_gpu_work();
      read_launches();
    }
    if (shown_[openacc]) read_openacc();
    if (shown_[openmp]) read_openmp();
    std::vector<bool> in_thread(work_.size());  // by NvtxCall::work
    ranges_.visit(calls_, [&](const NvtxCall& call, NvtxRanges::Groups groups, auto) {
      if (is_launch(call) && !groups.empty()) in_thread[call.work] = true;
      visit(call, groups);
    });
    RangesByTime by_time(session_);
    for (const auto* calls : {&calls_, &elsewhere_}) {
      for (const NvtxCall& call : *calls) {
        if (!is_launch(call) || in_thread[call.work]) continue;
        visit(call, by_time.groups(work_[call.work].correlation, ranges_));
      }
    }
    for (const auto& [key, total] : totals_) keys_.push_back(key);
    std::ranges::sort(keys_);
  }

  // The sections of a group. May be called once per group.
  std::vector<SummarySection> take(std::uint32_t group) {
    std::array<std::vector<SummaryRow>, part_count> rows;
    for (auto key = std::ranges::lower_bound(keys_, make_key(group, 0));
         key != keys_.end() && *key >> 32 == group; ++key) {
      const auto& [part, text] = labels_[static_cast<std::uint32_t>(*key)];
      rows[part].push_back({text, std::move(totals_.at(*key))});
    }
    std::vector<SummarySection> result;
    for (std::size_t i = 0; i < part_count; ++i) {
      if (!shown_[i]) continue;
      std::string nothing = nothing_of(session_, *sections[i]);
      if (!nothing.empty()) nothing.insert(nothing.size() - 1, " in this range");
      const auto& section = std::get<Section>(sections[i]->does);
      result.push_back({section.label(session_), std::move(rows[i]), std::move(nothing)});
    }
    return result;
  }

 private:
  static std::uint64_t make_key(std::uint32_t group, std::uint32_t label) {
    return std::uint64_t{group} << 32 | label;
  }

  void read_gpu_work() {
    work_ = report::read_gpu_work(session_, [&](const schema::GpuKind& kind, std::int64_t id) {
      return labels_.number(gpu, kind.type, id,
                            [&] { return session_.names().gpu_work(kind, id); });
    });
  }

  void read_launches() {
    calls_ = report::read_launches(
        session_, ranges_, work_,
        [&](ApiDomain domain, std::int64_t cbid) {
          return labels_.number(api, domain == ApiDomain::driver ? "driver" : "runtime", cbid,
                                [&] { return session_.names().api(domain, cbid); });
        },
        elsewhere_);
  }

  void add_call(std::int64_t process, std::int64_t thread, NvtxCall call) {
    const auto place = ranges_.place(process, thread);
    if (!place) return;
    call.place = *place;
    calls_.push_back(call);
  }

  void read_openacc() {
    OpenaccNames names(session_);
    for (const OpenaccRecord& record : report::read_openacc(session_, names)) {
      const auto text = [&] { return names.text(record.name); };
      add_call(record.process, record.thread,
               {.start = record.start,
                .duration = record.time,
                .what = labels_.number(openacc, "openacc", record.name, text)});
    }
  }

  void read_openmp() {
    auto rows =
        session_.select("OPENMP", {"cuProcessId", "cuThreadId", "start", "end", "eventKind"},
                        session_.timed("OPENMP"));
    while (rows.step()) {
      const std::int64_t kind = rows.integer(4);
      add_call(rows.integer(0), rows.integer(1),
               {.start = rows.integer(2),
                .duration = rows.integer(3) - rows.integer(2),
                .what = labels_.number(openmp, "openmp", kind, [&] { return openmp_name(kind); })});
    }
  }

  bool is_launch(const NvtxCall& call) const { return labels_[call.what].first == api; }

  // For API calls, nvprof lists only those that did something on the GPU.
  void visit(const NvtxCall& call, NvtxRanges::Groups groups) {
    if (!is_launch(call)) return add(groups, call.what, call.duration);
    if (groups.empty()) return;
    if (shown_[api]) add(groups, call.what, call.duration);
    if (!shown_[gpu]) return;
    for (GpuOperation& operation : launched_by(call.work, work_)) {
      // A runtime call and the driver call inside it may share an id.
      if (operation.counted) continue;
      operation.counted = true;
      add(groups, operation.what, operation.duration, operation.from_device);
    }
  }

  void add(NvtxRanges::Groups groups, std::uint32_t label, std::int64_t duration,
           bool from_device = false) {
    for (const std::uint32_t group : groups) {
      Total& total = totals_[make_key(group, label)];
      total.add(duration);
      total.device_calls += from_device;
      if (session_.options().statistics) total.durations.push_back(duration);
    }
  }

  Session& session_;
  NvtxRanges& ranges_;
  std::array<bool, part_count> shown_{};
  Labels labels_;
  std::vector<NvtxCall> calls_;
  std::vector<NvtxCall> elsewhere_;  // launches from threads without ranges
  std::vector<GpuOperation> work_;
  std::unordered_map<std::uint64_t, Total> totals_;  // by group and label
  std::vector<std::uint64_t> keys_;                  // keys of totals_, ascending
};

// How the default domain prints.
constexpr std::string_view default_domain = "<unnamed>";

// Sorts by thread, domain and name.
std::vector<std::uint32_t> order_of(const std::vector<NvtxGroup>& groups) {
  std::vector<std::uint32_t> order(groups.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::ranges::sort(order, {}, [&](std::uint32_t i) {
    const NvtxGroup& group = groups[i];
    // Like nvprof, compare with the closing quote, which matters if one name is a prefix of
    // another. The default domain sorts after all ASCII names.
    std::string domain = group.domain ? *group.domain + '"' : "\x7f";
    return std::tuple(group.thread, group.process, std::move(domain), std::string_view(group.name));
  });
  return order;
}

void print_nvtx_ranges(Session& session) {
  if (!session.has_rows("MARKER")) return;
  Output& output = session.output();
  NvtxRanges ranges(session);
  const auto& groups = ranges.groups();
  if (!groups.empty() || ranges.any_mark()) {
    output.line();
    output.heading("NVTX result:");
  }
  if (ranges.invalid() > 0) {
    output.warning("Found " + std::to_string(ranges.invalid()) + " invalid range marker(s)");
  }
  RangeSummaries summaries(session, ranges);
  const NvtxGroup* before = nullptr;
  std::string last_domain;
  for (const std::uint32_t i : order_of(groups)) {
    const NvtxGroup& group = groups[i];
    const std::string* name = session.names().thread(group.thread);
    const std::string thread = name ? *name : "<unnamed>";
    const std::string domain = group.domain.value_or(std::string(default_domain));
    const bool same_thread =
        before && before->process == group.process && before->thread == group.thread;
    if (!same_thread) {
      std::string line = "  Thread \"" + thread + "\" (id = " + std::to_string(group.thread);
      if (ranges.several_processes()) line += ", process " + std::to_string(group.process);
      output.heading(line + ")");
    }
    if (!same_thread) last_domain.clear();
    if (domain != last_domain) output.heading("    Domain \"" + domain + "\"");
    last_domain = domain;
    output.heading("      Range \"" + group.name + "\"");
    before = &group;
    output.context({{"thread", thread},
                    {"thread_id", std::to_string(group.thread)},
                    {"domain", domain},
                    {"range", group.name}});
    print_sections(session, summaries.take(i),
                   SummaryRow{session.names().readable(group.name), group.total});
    output.line();
  }
  output.context({});
}

}  // namespace

extern const Report nvtx_ranges{
    .phase = Phase::detail,
    .order = 3,
    .does = Printer{print_nvtx_ranges},
};

}  // namespace gpuprof::report
