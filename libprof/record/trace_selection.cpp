#include "libprof/record/trace_selection.hpp"

#include <algorithm>
#include <set>

#include "schema/activity/all.hpp"

namespace gpuprof::record {
namespace {

using schema::Group;

bool is_change(std::string_view word) { return word.starts_with('+') || word.starts_with('-'); }

// Null: there is no such group.
const schema::GroupInfo* find_group(std::string_view word) {
  if (is_change(word)) word.remove_prefix(1);
  const auto found = std::ranges::find(schema::groups, word, &schema::GroupInfo::name);
  return word.empty() || found == schema::groups.end() ? nullptr : &*found;
}

std::set<Group> chosen_groups(const TraceOptions& options) {
  std::set<Group> chosen;
  if (std::ranges::all_of(options.words, is_change)) {
    for (const schema::GroupInfo& group : schema::groups) {
      if (group.by_default) chosen.insert(group.group);
    }
  }
  if (options.all_calls) chosen.insert(Group::queries);
  for (const std::string& word : options.words) {
    if (word == "all") {
      // graph replaces the rows of a graph's nodes, which is less, not more.
      for (const schema::GroupInfo& group : schema::groups) {
        if (!group.name.empty() && group.group != Group::graph) chosen.insert(group.group);
      }
    } else if (word.starts_with('-')) {
      chosen.erase(find_group(word)->group);
    } else {
      chosen.insert(find_group(word)->group);
    }
  }
  for (const auto& [group, on] : options.groups) {
    if (on) {
      chosen.insert(group);
    } else {
      chosen.erase(group);
    }
  }
  if (options.memory) chosen.insert({Group::memory, Group::allocation_source});
  // Without these it is unknown what a wait for an event waits for.
  if (options.dependencies) chosen.insert(Group::cuda_event);
  if (options.api == ApiTrace::none) chosen.erase(Group::api);
  if (!chosen.contains(Group::api)) chosen.erase(Group::queries);
  if (options.counts_instructions) chosen.erase(Group::gpu);
  chosen.insert(Group::topology);
  return chosen;
}

}  // namespace

bool is_trace_word(const std::string& word) { return word == "all" || find_group(word); }

std::string trace_problem(const std::vector<std::string>& words) {
  if (!std::ranges::all_of(words, is_trace_word)) {
    std::string names;
    for (const schema::GroupInfo& group : schema::groups) {
      if (!group.name.empty()) names += std::string(group.name) + ", ";
    }
    return names + "all";
  }
  const auto changes = std::ranges::count_if(words, is_change);
  if (changes > 0 && changes != std::ssize(words)) {
    return "the whole list, or only what to add (+NAME) and take away (-NAME)";
  }
  const auto has = [&](std::string_view word) {
    return std::ranges::find(words, word) != words.end();
  };
  if (has("queries") && !has("api") && !has("all"))
    return "queries together with api: gpu,api,queries";
  return {};
}

TraceSelection select_trace(const TraceOptions& options) {
  const std::set<Group> chosen = chosen_groups(options);
  TraceSelection selection;
  for (const schema::KindRef& kind : schema::kinds) {
    Group group = kind.info->group;
    const int id = kind.info->id;
    const bool serial_kernel = group == Group::serial;
    const bool concurrent_kernel = id == schema::ConcurrentKernel::info.id;
    if (serial_kernel) group = Group::gpu;
    if (serial_kernel && options.concurrent_kernels) continue;
    if (concurrent_kernel && !options.concurrent_kernels) continue;
    if (id == schema::Driver::info.id && options.api == ApiTrace::runtime) continue;
    if (id == schema::Runtime::info.id && options.api == ApiTrace::driver) continue;
    const bool module = id == schema::Module::info.id && options.modules;
    if (chosen.contains(group) || module) selection.kinds.push_back(id);
  }
  selection.queries = chosen.contains(Group::queries);
  selection.runtimes = {.openacc = chosen.contains(Group::openacc),
                        .openmp = chosen.contains(Group::openmp)};
  selection.allocation_source = chosen.contains(Group::allocation_source);
  selection.launch_calls_only = chosen.contains(Group::gpu) && !chosen.contains(Group::api);
  // Without records of calls, reading stacks would take callbacks of its own.
  const bool unasked = options.launch_stacks == wire::LaunchStacks::cheap;
  if (!unasked || chosen.contains(Group::api)) selection.launch_stacks = options.launch_stacks;
  for (const schema::GroupInfo& group : schema::groups) {
    if (group.name.empty() || !chosen.contains(group.group)) continue;
    selection.groups += (selection.groups.empty() ? "" : ",") + std::string(group.name);
  }
  return selection;
}

std::vector<std::string> tables_asked_for(const TraceOptions& options) {
  std::set<Group> asked;
  for (const std::string& word : options.words) {
    const schema::GroupInfo* group = find_group(word);
    if (group && !group->by_default && !word.starts_with('-')) asked.insert(group->group);
  }
  for (const auto& [group, on] : options.groups) {
    const auto info = std::ranges::find(schema::groups, group, &schema::GroupInfo::group);
    if (on && !info->by_default) asked.insert(group);
  }
  std::vector<std::string> tables;
  for (const schema::KindRef& kind : schema::kinds) {
    if (asked.contains(kind.info->group)) tables.emplace_back(kind.info->table);
  }
  return tables;
}

}  // namespace gpuprof::record
