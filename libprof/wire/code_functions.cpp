#include "libprof/wire/code_functions.hpp"

#include "libprof/wire/limits.hpp"

namespace gpuprof::wire {

void encode(Encoder& encoder, const std::vector<CodeFunction>& functions) {
  encoder.integer(static_cast<std::uint32_t>(functions.size()));
  for (const CodeFunction& function : functions) {
    encoder.integer(function.cubin).text(function.name);
  }
}

std::vector<CodeFunction> decode_functions(Decoder& decoder) {
  std::vector<CodeFunction> functions;
  const auto count =
      decoder.list_length(sizeof(std::uint64_t) + sizeof(std::uint32_t), max_code_places);
  for (std::uint32_t i = 0; i < count && decoder.ok(); ++i) {
    CodeFunction& function = functions.emplace_back();
    function.cubin = decoder.integer<std::uint64_t>();
    function.name = decoder.text();
  }
  return functions;
}

}  // namespace gpuprof::wire
