// Small one-line charts made of text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gpuprof::report {

// A bar for a share between 0 and 1, padded to `width` characters; any share above 0 is visible.
// `blocks`: Unicode block elements instead of '#'.
std::string bar(double share, std::size_t width, bool blocks);

// One character per value from 0 to 1 whose height shows the value; blank for NaN (no value).
std::string chart(std::span<const double> values, bool blocks);

}  // namespace gpuprof::report
