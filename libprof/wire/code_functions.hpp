// Functions of the device's code, as frames that tell of their instructions name them: once each,
// in front of the instructions, which count them from 1.
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
// Fails the decoder if there are more than may be.
std::vector<CodeFunction> decode_functions(Decoder& decoder);

}  // namespace gpuprof::wire
