// Device functions, as named by frames about instructions: each function is listed once, before the
// instructions, which refer to it by its index from 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/wire/codec.hpp"

namespace gpuprof::wire {

struct CodeFunction {
  std::uint64_t cubin{};  // MODULE.cubinCrc
  std::string name;       // mangled
};

void encode(Encoder& encoder, const std::vector<CodeFunction>& functions);
// Fails the decoder if there are more than the limit.
std::vector<CodeFunction> decode_functions(Decoder& decoder);

}  // namespace gpuprof::wire
