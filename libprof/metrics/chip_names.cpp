#include "libprof/metrics/chip_names.hpp"

#include <cctype>
#include <set>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::metrics {
namespace {

struct ChipName {
  std::string_view chip;
  std::string_view products;  // in capitals, each surrounded by blanks
  std::string_view capability;
};

constexpr ChipName chips[] = {
    {"TU102", " 2080TI TITANRTX RTX6000 RTX8000 ", "75"},
    {"TU104", " T4 2080 2080SUPER 2070SUPER ", "75"},
    {"TU106", " 2060 2070 ", "75"},
    {"TU116", " 1660 1660TI 1660SUPER ", "75"},
    {"TU117", " 1650 ", "75"},
    {"GA100", " A100 A800 A30 ", "80"},
    {"GA102", " A10 A40 A5000 A5500 A6000 RTXA6000 3080 3080TI 3090 3090TI ", "86"},
    {"GA103", " ", "86"},
    {"GA104", " A4000 3060TI 3070 3070TI ", "86"},
    {"GA106", " A2000 3060 ", "86"},
    {"GA107", " A2 A16 3050 ", "86"},
    {"GA10B", " ORIN ", "87"},
    {"GH100", " H100 H200 H800 H20 GH200 ", "90"},
    {"AD102", " L40 L40S L20 4090 ", "89"},
    {"AD103", " 4080 4080SUPER ", "89"},
    {"AD104", " L4 4070 4070TI ", "89"},
    {"AD106", " 4060TI ", "89"},
    {"AD107", " 4060 ", "89"},
    {"GB100", " B100 B200 GB200 ", "100"},
    {"GB102", " ", "100"},
    {"GB202", " 5090 ", "120"},
    {"GB203", " 5080 5070TI ", "120"},
    {"GB205", " 5070 ", "120"},
    {"GB206", " 5060TI ", "120"},
    {"GB207", " ", "120"},
};

// "NVIDIA GeForce RTX 4090" -> "4090".
std::string_view without_makers(std::string_view name) {
  for (const std::string_view maker : {"NVIDIA", "GEFORCE", "TESLA", "RTX", "GTX"}) {
    if (name.starts_with(maker) && name.size() > maker.size()) name.remove_prefix(maker.size());
  }
  return name;
}

}  // namespace

std::string chip_named(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '-' && c != '_') {
      plain += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
  }
  const bool by_capability = plain.starts_with("SM") && plain.size() > 2;
  const std::string product = " " + std::string(without_makers(plain)) + " ";
  std::string found, all;
  for (const ChipName& chip : chips) {
    if (by_capability ? plain.substr(2) != chip.capability
                      : chip.products.find(" " + plain + " ") == chip.products.npos &&
                            chip.products.find(product) == chip.products.npos) {
      continue;
    }
    all += (found.empty() ? "" : ", ") + std::string(chip.chip);
    found = chip.chip;
  }
  if (all.size() > found.size()) {
    throw Error("several chips are " + std::string(name), "name one of them: " + all,
                ExitCode::bad_option);
  }
  return found.empty() ? plain : found;
}

std::vector<std::string> chip_names() {
  std::vector<std::string> names;
  std::set<std::string> capabilities;
  for (const ChipName& chip : chips) {
    names.emplace_back(chip.chip);
    for (std::string& product : split(chip.products, ' ')) {
      if (!product.empty()) names.push_back(std::move(product));
    }
    capabilities.insert("sm_" + std::string(chip.capability));
  }
  names.insert(names.end(), capabilities.begin(), capabilities.end());
  return names;
}

}  // namespace gpuprof::metrics
