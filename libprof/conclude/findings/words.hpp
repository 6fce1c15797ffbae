// The words of findings, for text and Markdown. What comes from the file is printable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/conclude/findings/findings.hpp"

namespace gpuprof::findings {

inline constexpr std::string_view nothing_there =
    "No GPU work has times there: there is nothing to find.";

std::string time_words(std::int64_t ns);
std::string percent_words(double share);
// "copying HtoD", "idle, the host in no call of CUDA".
std::string part_words(const std::string& part);
// As in the account.
std::string verdict(const Device& device);
// "9 steps are judged, without the first". Only of_steps.
std::string judged_words(const Findings& findings);
// The same, and "; --from 0 judges the whole run."
std::string steps_words(const Findings& findings);
// "Confidence is lower than it would be otherwise. " and the doubt.
std::string doubt_words(const std::string& doubt);
// "at most 3.60s, 99.4% of the time of NVIDIA H200 (0), 1.80s for each of 2 steps".
std::string saving(const Findings& findings, const Finding& finding);
// "; simulated 3.20s"; empty: it is not simulated.
std::string simulated_words(const Finding& finding);
// "All of them together: at most 3.60s; simulated 3.20s." With the device's name if there are
// several, and how many are simulated if not all are.
std::string together_words(const Findings& findings, const Together& together);
// "718us of copying HtoD, 2 times".
std::string amount(const Draw& draw);
// The most expensive of it, printable and cut to a line: "cudaMalloc", "before add_step". Empty:
// not known.
std::string what(const Draw& draw);
// "from 121.53ms to 122.9ms"; empty: not known.
std::string where(const Draw& draw);
// What the host did in no call of CUDA, if the finding is about that and the file says so: "The
// host in no call of CUDA: 61.2 % collate.py:88 collate in a child process, …"; empty otherwise.
std::string host_words(const Findings& findings, const Finding& finding);
// Each reason for which rules abstained, with their ids.
struct Abstention {
  std::string rules, reason;
};
std::vector<Abstention> abstentions(const Findings& findings);
// Why nothing is shown, or how many findings are not; empty: all are shown.
std::string rest_words(std::size_t shown, std::size_t hidden, double least_share);

}  // namespace gpuprof::findings
