// What was sampled and counted at each instruction of a function. For gpuprof annotate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/read/profile.hpp"

namespace gpuprof::annotate {

struct Instruction {
  std::int64_t samples = 0;
  std::int64_t not_issued = 0;  // of them: the scheduler issued nothing in that cycle
  std::int64_t executed = 0;    // by warps
  std::int64_t threads = 0;     // that executed it, over all times
  std::string place;            // "/src/a.cu:12"; empty: not known
  std::string text;             // its assembly; empty: not known
};

// A function of one cubin, which may have been loaded into several contexts.
struct Function {
  std::string name;       // readable
  std::string mangled;    // as the cubin has it
  std::int64_t code = 0;  // cubinCrc of table MODULE; 0: not known
  std::int64_t samples = 0;
  std::int64_t executed = 0;
  std::map<std::int64_t, Instruction> instructions;  // by offset in the function [bytes]
};

struct Listing {
  std::vector<Function>
      functions;             // those with the most samples, then with the most executed first
  std::int64_t samples = 0;  // of all of them
  std::int64_t executed = 0;
};

// All of a profile's, in memory: it grows with the instructions that were sampled or counted.
// `check` is called now and then and may throw.
Listing read(reading::Profile& profile, const std::string& kernels,
             const std::function<void()>& check);

// The cubin with this cubinCrc; empty: the profile does not hold it.
std::string code(reading::Profile& profile, std::int64_t code);

// The assembly of a cubin's functions: by mangled name and offset.
using Assembly = std::map<std::string, std::map<std::int64_t, std::string>, std::less<>>;

// Gives the functions of this code their assembly: each instruction is in the list then.
void add(Listing& listing, std::int64_t code, const Assembly& assembly);

// The `most` first functions as text, each with what has samples, was executed or is assembly.
std::string text(const Listing& listing, std::size_t most);

}  // namespace gpuprof::annotate
