// Small charts in a line of text.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace gpuprof::report {

// A bar for a share of one, from the left, padded to `width` characters; anything above nothing
// shows. `blocks`: of Unicode's block elements, else of '#'.
std::string bar(double share, std::size_t width, bool blocks);

// A character for each value from 0 to 1: how high it is. NaN is a blank: there is no value.
std::string chart(std::span<const double> values, bool blocks);

}  // namespace gpuprof::report
