#include "apps/gpuprof/trace.hpp"

#include <algorithm>
#include <set>

#include "libprof/base/error.hpp"
#include "schema/activity/all.hpp"

namespace gpuprof::app {
namespace {

using schema::Group;

const schema::GroupInfo& find_group(std::string_view name) {
  std::string names;
  for (const schema::GroupInfo& group : schema::groups) {
    if (group.name.empty()) continue;
    if (group.name == name) return group;
    names += (names.empty() ? "" : ", ") + std::string(group.name);
  }
  throw Error("--trace knows no " + std::string(name), "it knows " + names, ExitCode::bad_option);
}

}  // namespace

TraceSelection select_trace(const std::vector<std::string>& words, bool concurrent_kernels) {
  std::set<Group> chosen;
  const auto add_defaults = [&] {
    for (const schema::GroupInfo& group : schema::groups) {
      if (group.by_default) chosen.insert(group.group);
    }
  };
  const auto changes = std::count_if(words.begin(), words.end(), [](const std::string& word) {
    return word.starts_with('+') || word.starts_with('-');
  });
  const bool only_changes = changes == static_cast<std::ptrdiff_t>(words.size());
  if (changes > 0 && !only_changes) {
    throw Error("--trace mixes names with and without + or -",
                "give the whole list, or only what to add and take away", ExitCode::bad_option);
  }
  if (only_changes) add_defaults();
  for (const std::string& word : words) {
    if (word == "all") {
      // graph replaces the rows of a graph's nodes, which is less and not more.
      for (const schema::GroupInfo& group : schema::groups) {
        if (!group.name.empty() && group.group != Group::graph) chosen.insert(group.group);
      }
    } else if (word.starts_with('-')) {
      chosen.erase(find_group(word.substr(1)).group);
    } else {
      chosen.insert(find_group(word.starts_with('+') ? word.substr(1) : word).group);
    }
  }
  chosen.insert(Group::topology);

  TraceSelection selection;
  for (const schema::KindRef& kind : schema::kinds) {
    Group group = kind.info->group;
    const bool serial_kernel = group == Group::serial;
    const bool concurrent_kernel = kind.info->id == schema::ConcurrentKernel::info.id;
    if (serial_kernel) group = Group::gpu;
    if ((serial_kernel && concurrent_kernels) || (concurrent_kernel && !concurrent_kernels))
      continue;
    if (chosen.contains(group)) selection.kinds.push_back(kind.info->id);
  }
  selection.launch_calls_only = chosen.contains(Group::gpu) && !chosen.contains(Group::api);
  for (const schema::GroupInfo& group : schema::groups) {
    if (group.name.empty() || !chosen.contains(group.group)) continue;
    selection.groups += (selection.groups.empty() ? "" : ",") + std::string(group.name);
  }
  return selection;
}

}  // namespace gpuprof::app
