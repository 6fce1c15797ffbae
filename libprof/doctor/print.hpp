// The answers as text and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <span>

#include "libprof/doctor/check.hpp"

namespace gpuprof::doctor {

// Raised when a program that reads the document would misread it.
inline constexpr int json_version = 1;

std::size_t count(std::span<const Result> results, Answer answer);

// One line for each finding, and below it what to type; then a line with the counts. Nothing in the
// texts can control a terminal.
void print(std::span<const Result> results, std::ostream& out);

// docs/doctor.md describes it. Checks that do not apply have no findings.
nlohmann::ordered_json document(std::span<const Result> results);

}  // namespace gpuprof::doctor
