#include "libprof/report/dependency_reader.hpp"

#include <optional>

#include "schema/enums.hpp"
#include "schema/nvprof_api.hpp"

namespace gpuprof::report {
namespace {

using dependency::Returns;
using dependency::Role;
using dependency::Waits;
using schema::copy_kind;
using schema::memory_kind;

constexpr std::int64_t none = 4294967295;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE

Role role_of(std::string_view function) {
  const std::string_view name = schema::without_version(function);
  // That the last two wait is undocumented; observed on an H100.
  for (const std::string_view frees : {"cudaFree", "cuMemFree", "cudaFreeHost", "cuMemFreeHost"}) {
    if (name == frees) return Role::frees;
  }
  if (name == "cudaDeviceSynchronize" || name == "cudaThreadSynchronize" ||
      name == "cuCtxSynchronize") {
    return Role::synchronizes_context;
  }
  for (const std::string_view copy : {"cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset"}) {
    if (!name.starts_with(copy)) continue;
    return name.find("Async") == name.npos ? Role::copy : Role::async_copy;
  }
  return Role::other;
}

// See "API synchronization behavior" in CUDA's documentation. An upload from pageable memory waits
// for the preceding work of its stream, and then the call itself copies: like nvprof, count the
// call as busy throughout.
Returns copy_returns(std::int64_t copied, std::int64_t from, std::int64_t to, bool async) {
  switch (copied) {
    case copy_kind("HtoD"):
    case copy_kind("HtoA"):
      return async || from == memory_kind("Pageable") || from == memory_kind("unknown")
                 ? Returns::at_once
                 : Returns::after_it;
    case copy_kind("DtoH"):
    case copy_kind("AtoH"):
      if (to == memory_kind("Pageable")) return Returns::after_it_always;
      return async ? Returns::at_once : Returns::after_it;
    case copy_kind("HtoH"): return Returns::after_it_always;
    default: return Returns::at_once;
  }
}

Returns set_returns(std::int64_t kind, bool async) {
  const bool waits = kind == memory_kind("Pinned") || kind == memory_kind("Managed");
  return waits && !async ? Returns::after_it : Returns::at_once;
}

}  // namespace

DependencyReader::DependencyReader(Session& session)
    : ours(session.database().has_table("STATISTIC")),
      session_(session),
      window_("WHERE " + session.filter("RUNTIME")),
      nested_(session.has_rows("CDP_KERNEL")) {
  read_streams();
  read_calls("RUNTIME", ApiDomain::runtime);
  read_calls("DRIVER", ApiDomain::driver);
  read_kernels("KERNEL");
  read_kernels("CONCURRENT_KERNEL");
  if (nested_) read_nested_kernels();
  read_copies("MEMCPY");
  read_copies("MEMCPY2");
  read_sets();
  read_synchronizations();
  read_events();
}

std::int32_t DependencyReader::number(std::map<std::int64_t, std::int32_t>& numbers,
                                      std::int64_t id, std::int32_t& count) {
  const auto [place, is_new] = numbers.try_emplace(id, count);
  count += is_new;
  return place->second;
}

std::int32_t DependencyReader::context(DependencyProcess& process, std::int64_t id) {
  return number(process.contexts, id, process.timeline.contexts);
}

// A stream without a row is assumed to be blocking.
std::int32_t DependencyReader::stream(DependencyProcess& process, std::int64_t context_id,
                                      std::int64_t id) {
  const std::int32_t context = this->context(process, context_id);
  std::vector<dependency::Stream>& streams = process.timeline.streams;
  const auto [place, is_new] =
      process.streams.try_emplace({context, id}, static_cast<std::int32_t>(streams.size()));
  if (is_new) streams.push_back({.context = context});
  return place->second;
}

std::uint32_t DependencyReader::label(std::string key, std::string name) {
  labels.push_back({std::move(key), std::move(name)});
  roles.push_back(Role::other);
  return static_cast<std::uint32_t>(labels.size() - 1);
}

std::uint32_t DependencyReader::kernel_label(std::int64_t string_id) {
  const auto [place, is_new] = kernel_labels_.try_emplace(string_id);
  if (is_new) {
    const std::string& name = session_.names().kernel(string_id);
    // A nameless kernel was already counted by the line above.
    const bool nameless = name.starts_with("<kernel name");
    place->second = label(nameless ? name : session_.names().text(string_id), name);
  }
  return place->second;
}

std::uint32_t DependencyReader::call_label(std::string name) {
  const Role role = role_of(name);
  if (name.ends_with("_v3020")) name.resize(name.size() - 6);  // as nvprof does in this report
  const auto [place, is_new] = call_labels_.try_emplace(name);
  if (is_new) {
    place->second = label(name, name);
    roles.back() = role;
  }
  return place->second;
}

void DependencyReader::read_streams() {
  constexpr auto& flags = schema::enums::CUpti_ActivityStreamFlag;
  constexpr std::int64_t non_blocking = schema::enum_number(flags, "non-blocking"),
                         null_stream = schema::enum_number(flags, "null");
  auto rows = session_.select("STREAM", {"processId", "contextId", "streamId", "flag"});
  while (rows.step()) {
    DependencyProcess& process = this->process(rows.integer(0));
    const std::int32_t index = stream(process, rows.integer(1), rows.integer(2));
    dependency::Stream& stream = process.timeline.streams[static_cast<std::size_t>(index)];
    stream.null = rows.integer(3) == null_stream;
    stream.blocking = !stream.null && rows.integer(3) != non_blocking;
    process.listed_streams = static_cast<std::int32_t>(process.streams.size());
  }
}

void DependencyReader::read_calls(std::string_view kind, ApiDomain domain) {
  session_.output().progress("reading API calls");
  std::unordered_map<std::int64_t, std::uint32_t> functions;
  auto rows = session_.select(
      kind, {"processId", "threadId", "start", "end", "correlationId", "cbid"}, window_);
  while (rows.step()) {
    const std::int64_t start = rows.integer(2), end = rows.integer(3), cbid = rows.integer(5);
    if (start <= 0 || end < start) continue;
    const auto [function, is_new] = functions.try_emplace(cbid);
    if (is_new) {
      function->second = call_label(session_.names().api(domain, cbid, true));
    }
    DependencyProcess& process = this->process(rows.integer(0));
    process.timeline.calls.push_back(
        {.start = start,
         .end = end,
         .correlation = rows.integer(4),
         .thread = number(process.threads, rows.integer(1), process.timeline.threads),
         .label = function->second});
  }
}

// The first six columns are the same for all GPU work.
void DependencyReader::add(const store::Statement& row, std::uint32_t label, Returns returns) {
  DependencyProcess& process = this->process(row.integer(0));
  const std::int32_t stream = this->stream(process, row.integer(4), row.integer(5));
  process.timeline.work.push_back({.start = row.integer(1),
                                   .end = row.integer(2),
                                   .correlation = row.integer(3),
                                   .stream = stream,
                                   .label = label,
                                   .returns = returns});
}

#define GPUPROF_WORK "processId", "start", "end", "correlationId", "contextId", "streamId"
constexpr auto is_timed = [](const store::Statement& row) {
  return row.integer(1) > 0 && row.integer(2) > row.integer(1);
};

void DependencyReader::read_kernels(std::string_view kind) {
  session_.output().progress("reading kernels");
  auto rows = session_.select(kind, {GPUPROF_WORK, "name", "gridId"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    add(rows, kernel_label(rows.integer(6)), Returns::at_once);
    if (!nested_) continue;
    const dependency::Work& kernel = process(rows.integer(0)).timeline.work.back();
    grids_[rows.integer(7)] = {rows.integer(0), kernel.correlation, kernel.stream};
  }
}

// Nested kernels belong to the launch and the stream of the outermost kernel.
void DependencyReader::read_nested_kernels() {
  std::unordered_map<std::int64_t, std::int64_t> parents;
  auto links = session_.select("CDP_KERNEL", {"gridId", "parentGridId"});
  while (links.step()) parents[links.integer(0)] = links.integer(1);

  auto rows = session_.select("CDP_KERNEL", {GPUPROF_WORK, "name", "gridId"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    // The path up is shortened for later lookups. In a damaged file it may be a cycle.
    std::int64_t grid = rows.integer(7);
    std::vector<std::int64_t> way;
    auto first = grids_.find(grid);
    while (first == grids_.end() && parents.contains(grid) && way.size() <= parents.size()) {
      way.push_back(grid);
      grid = parents[grid];
      first = grids_.find(grid);
    }
    if (first == grids_.end()) {
      for (const std::int64_t below : way) parents.erase(below);
      continue;
    }
    const Grid top = first->second;
    for (const std::int64_t below : way) grids_[below] = top;
    process(top.process)
        .timeline.work.push_back({.start = rows.integer(1),
                                  .end = rows.integer(2),
                                  .correlation = top.correlation,
                                  .stream = top.stream,
                                  .label = kernel_label(rows.integer(6)),
                                  .nested = true});
  }
}

void DependencyReader::read_copies(std::string_view kind) {
  session_.output().progress("reading copies");
  std::map<std::int64_t, std::uint32_t> kinds;
  auto rows =
      session_.select(kind, {GPUPROF_WORK, "copyKind", "srcKind", "dstKind", "flags"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    const std::int64_t copied = rows.integer(6);
    const auto [known, is_new] = kinds.try_emplace(copied);
    if (is_new) {
      const std::string name = memcpy_name(copied);
      known->second = label(name, name);
    }
    add(rows, known->second,
        copy_returns(copied, rows.integer(7), rows.integer(8), rows.integer(9) & 1));
  }
}

void DependencyReader::read_sets() {
  std::optional<std::uint32_t> set;
  auto rows = session_.select("MEMSET", {GPUPROF_WORK, "memoryKind", "flags"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    if (!set) set = label(std::string(memset_name()), std::string(memset_name()));
    add(rows, *set, set_returns(rows.integer(6), rows.integer(7) & 1));
  }
}
#undef GPUPROF_WORK

void DependencyReader::read_synchronizations() {
  auto rows = session_.select(
      "SYNCHRONIZATION",
      {"processId", "correlationId", "type", "contextId", "streamId", "cudaEventId"},
      window_ +
          (session_.has_column("SYNCHRONIZATION", "returnValue") ? " AND returnValue = 0" : ""));
  while (rows.step()) {
    constexpr std::int64_t first = schema::synchronization("event synchronize"),
                           last = schema::synchronization("context synchronize");
    const std::int64_t type = rows.integer(2);
    if (type < first || type > last) continue;
    DependencyProcess& process = this->process(rows.integer(0));
    const std::int64_t context_id = rows.integer(3), stream_id = rows.integer(4);
    const bool has_stream = stream_id != none && stream_id >= 0;
    process.timeline.synchronizations.push_back(
        {.correlation = rows.integer(1),
         .kind = static_cast<Waits>(type - first),
         .context = context(process, context_id),
         .stream = has_stream ? stream(process, context_id, stream_id) : -1,
         .event = rows.integer(5)});
  }
}

void DependencyReader::read_events() {
  auto rows = session_.select("CUDA_EVENT",
                              {"processId", "correlationId", "contextId", "streamId", "eventId"});
  while (rows.step()) {
    DependencyProcess& process = this->process(rows.integer(0));
    process.timeline.events.push_back({.correlation = rows.integer(1),
                                       .stream = stream(process, rows.integer(2), rows.integer(3)),
                                       .event = rows.integer(4)});
  }
}

}  // namespace gpuprof::report
