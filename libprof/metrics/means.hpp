// Running means of metrics by kernel shape, and which are known well enough.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "libprof/metrics/evaluator.hpp"
#include "libprof/wire/measures.hpp"

namespace gpuprof::metrics {

// Launches that are alike: name, mangled or not as CUPTI reports it; grid, then block.
struct KernelShape {
  std::string name;
  std::array<std::uint32_t, 6> size{};
  auto operator<=>(const KernelShape&) const = default;
};

// Used by one thread.
class Means {
 public:
  // Returns the shapes for which all metrics of these values' group have become known: the standard
  // error of each mean is at most 1 % of it. Each is returned once.
  std::vector<KernelShape> add(std::uint32_t process, const MeasuredValues& values);

 private:
  struct Key {
    std::uint32_t process, context, group;
    KernelShape shape;
    auto operator<=>(const Key&) const = default;
  };
  struct Mean {
    double mean = 0;
    double squares = 0;  // sum of squared differences from it
  };
  struct Known {
    std::uint64_t launches = 0;
    bool told = false;
    std::vector<Mean> means;
  };
  static bool is_tight(const Known& known);

  std::map<Key, Known> known_;
};

}  // namespace gpuprof::metrics
