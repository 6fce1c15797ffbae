#include "libprof/collect/extra/stack_unwinder.hpp"

#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace gpuprof::collect {

// --- modules

namespace {

struct ModuleList {
  std::vector<CodeModule> modules;
  std::uint64_t added = 0, removed = 0;
  bool only_counts = false;
};

std::string path_of_program() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

int add_module(dl_phdr_info* object, std::size_t, void* argument) {
  auto& list = *static_cast<ModuleList*>(argument);
  list.added = object->dlpi_adds;
  list.removed = object->dlpi_subs;
  if (list.only_counts) return 1;
  CodeModule module;
  module.begin = UINT64_MAX;
  module.base = object->dlpi_addr;
  for (const ElfW(Phdr) & segment : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uint64_t begin = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) module.frame_header = begin;
    if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X)) continue;
    module.begin = std::min(module.begin, begin);
    module.end = std::max<std::uint64_t>(module.end, begin + segment.p_memsz);
  }
  if (module.begin >= module.end) return 0;
  module.path = object->dlpi_name ? object->dlpi_name : "";
  if (module.path.empty()) module.path = path_of_program();
  list.modules.push_back(std::move(module));
  return 0;
}

}  // namespace

bool CodeModules::look() {
  ModuleList list;
  list.only_counts = true;
  dl_iterate_phdr(&add_module, &list);
  if (!modules_.empty() && list.added == added_ && list.removed == removed_) return false;
  list.only_counts = false;
  dl_iterate_phdr(&add_module, &list);
  std::ranges::sort(list.modules, {}, &CodeModule::begin);
  modules_ = std::move(list.modules);
  added_ = list.added;
  return std::exchange(removed_, list.removed) != list.removed;
}

const CodeModule* CodeModules::at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(modules_, address, {}, &CodeModule::begin);
  if (after == modules_.begin()) return nullptr;
  const CodeModule& module = *std::prev(after);
  return address < module.end ? &module : nullptr;
}

// --- stacks

namespace {

constexpr std::size_t most_rules = 1 << 15;  // that are remembered; some 400 bytes each

}  // namespace

const std::optional<FrameRule>& StackUnwinder::rule_of(std::uint64_t address) {
  const auto known = rules_.find(address);
  if (known != rules_.end()) return known->second;
  if (rules_.size() == most_rules) rules_.clear();
  const CodeModule* const module = modules_.at(address);
  auto rule = module && module->frame_header != 0 ? rule_at(module->frame_header, address, read_)
                                                  : std::nullopt;
  return rules_.emplace(address, std::move(rule)).first->second;
}

// A function that keeps a frame pointer has put the caller's there, and its return address above.
bool StackUnwinder::step_by_frame_pointer(Registers& registers, const ReadWord& read) const {
  constexpr std::uint64_t word = sizeof(std::uint64_t);
  const std::uint64_t frame = registers.values[Registers::frame];
  std::uint64_t callers = 0, address = 0;
  if (frame < registers.values[Registers::stack] || frame % word != 0 || !read(frame, callers) ||
      !read(frame + word, address) || !modules_.at(address)) {
    return false;
  }
  registers.values[Registers::frame] = callers;
  registers.values[Registers::stack] = frame + 2 * word;
  registers.instruction = address;
  return true;
}

bool StackUnwinder::unwind(Registers registers, const Stack& stack, std::uint64_t until_begin,
                           std::uint64_t until_end, std::vector<std::uint64_t>& addresses) {
  const ReadWord read = [&stack](std::uint64_t from, std::uint64_t& word) {
    if (from < stack.begin || stack.bytes.size() < sizeof word ||
        from - stack.begin > stack.bytes.size() - sizeof word) {
      return false;
    }
    std::memcpy(&word, stack.bytes.data() + (from - stack.begin), sizeof word);
    return true;
  };
  addresses.clear();
  bool after_call = false;  // the address is that after a call
  while (registers.instruction != 0 && addresses.size() < most_frames) {
    const std::uint64_t address = registers.instruction - (after_call ? 1 : 0);
    if (address >= until_begin && address < until_end) return true;
    addresses.push_back(address);
    const std::optional<FrameRule>& rule = rule_of(address);
    const std::uint64_t top = registers.values[Registers::stack];
    const bool interrupted = rule && rule->is_signal;
    if (!(rule ? step_out(*rule, registers, read) : step_by_frame_pointer(registers, read))) break;
    // Functions that use no stack keep the return address in a register on Arm.
    const std::uint64_t now = registers.values[Registers::stack];
    if (now < top || (now == top && after_call && !interrupted)) break;
    if (!interrupted && !modules_.at(registers.instruction - 1)) break;
    after_call = !interrupted;
  }
  return false;
}

}  // namespace gpuprof::collect
