// Figures as text.
#pragma once

#include <string>

namespace gpuprof::compare {

// "97.159ms", of ns; less than 0 is 0.
std::string time_text(double ns);
// "+1.0us", "0".
std::string change_text(double ns);
// "8.0 %".
std::string share_text(double share);
// "+0.6 %".
std::string change_share_text(double share);
// "70.0 GB".
std::string bytes_text(double bytes);
// What follows the name of a kernel that `was` another one in A.
std::string renamed_text(const std::string& was);
std::string number_text(double value, int decimals, bool sign = false);

}  // namespace gpuprof::compare
