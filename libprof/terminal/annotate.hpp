// Samples and counts per instruction of a function, for gpuprof annotate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libprof/read/profile.hpp"

namespace gpuprof::terminal {

struct Instruction {
  std::int64_t samples = 0;
  std::int64_t not_issued = 0;  // of these: the scheduler issued nothing in that cycle
  std::int64_t executed = 0;    // by warps
  std::int64_t threads = 0;     // that executed it, over all executions
  std::string place;            // "/src/a.cu:12"; empty: unknown
  std::string text;             // assembly; empty: unknown
};

// A function of one cubin, which may have been loaded into several contexts.
struct Function {
  std::string name;       // readable
  std::string mangled;    // as in the cubin
  std::int64_t code = 0;  // cubinCrc in table MODULE; 0: unknown
  std::int64_t samples = 0;
  std::int64_t executed = 0;
  std::map<std::int64_t, Instruction> instructions;  // by offset in the function [bytes]
};

struct Listing {
  std::vector<Function>
      functions;             // those with the most samples first, then those executed most often
  std::int64_t samples = 0;  // of all functions
  std::int64_t executed = 0;
};

// Reads all functions of a profile; memory grows with the number of sampled or counted
// instructions. `check` is called now and then and may throw.
Listing read(reading::Profile& profile, const std::string& kernels,
             const std::function<void()>& check);

// The cubin with this cubinCrc; empty: the profile does not contain it.
std::string code(reading::Profile& profile, std::int64_t code);

// The assembly of a cubin's functions, by mangled name and offset.
using Assembly = std::map<std::string, std::map<std::int64_t, std::string>, std::less<>>;

// Adds assembly to the functions of this cubin: all their instructions are then in the list.
void add(Listing& listing, std::int64_t code, const Assembly& assembly);

// The first `most` functions as text, each with the instructions that have samples, were executed
// or have assembly.
std::string text(const Listing& listing, std::size_t most);

}  // namespace gpuprof::terminal
