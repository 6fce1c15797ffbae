// Text in lines of limited length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gpuprof::report {

// The text after `label`, in lines of at most `width` characters where words allow it; all but the
// first are indented by as much as the label is long.
std::string paragraph(const std::string& label, std::string_view text, std::size_t width = 96);

}  // namespace gpuprof::report
