#include "libprof/collect/extra/module_symbols.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "libprof/base/elf_file.hpp"

namespace gpuprof::collect {
namespace {

struct Mapping {
  std::uint64_t begin = 0, end = 0, offset = 0;
  std::string path;
};

// Mappings of files with code, sorted by address.
std::vector<Mapping> code_mappings() {
  std::vector<Mapping> all;
  const std::string list = ReadFile("/proc/self/maps").text();
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end_of_line = std::min(list.find('\n', at), list.size());
    const std::string line = list.substr(at, end_of_line - at);
    at = end_of_line + 1;
    unsigned long long begin = 0, end = 0, offset = 0;
    char rights[5] = {};
    int path = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx %4s %llx %*s %*s %n", &begin, &end, rights, &offset,
                    &path) != 4) {
      continue;
    }
    const auto name = static_cast<std::size_t>(path);
    if (rights[2] != 'x' || name >= line.size() || line[name] != '/') continue;
    all.push_back({begin, end, offset, line.substr(name)});
  }
  return all;
}

// A wanted address: an offset in the file, then as the symbols count.
struct Wanted {
  std::uint64_t address = 0;
  CodePlace* place = nullptr;
};

}  // namespace

std::vector<CodePlace> places_of(std::span<const std::uint64_t> addresses) {
  const std::vector<Mapping> mappings = code_mappings();
  std::vector<CodePlace> places(addresses.size());
  std::map<std::string, std::vector<Wanted>> by_file;  // the address is an offset in the file
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const std::uint64_t address = addresses[i];
    places[i].offset = address;
    auto mapping = std::ranges::upper_bound(mappings, address, {}, &Mapping::begin);
    if (mapping == mappings.begin() || address >= (--mapping)->end) continue;
    places[i].module = mapping->path;
    by_file[mapping->path].push_back({mapping->offset + (address - mapping->begin), &places[i]});
  }
  for (auto& [path, wanted] : by_file) {
    const ElfFile elf(path);
    std::vector<Wanted> found;
    for (const Wanted& each : wanted) {
      const auto address = elf.address_of(each.address);
      if (!address) continue;
      each.place->offset = *address;
      found.push_back({*address, each.place});
    }
    std::ranges::sort(found, {}, &Wanted::address);
    std::vector<std::uint64_t> in_order;
    for (const Wanted& each : found) in_order.push_back(each.address);
    auto functions = elf.functions_of(in_order);
    for (std::size_t i = 0; i < found.size(); ++i)
      found[i].place->function = std::move(functions[i]);
  }
  return places;
}

}  // namespace gpuprof::collect
