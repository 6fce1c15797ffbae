// Small files of strangers, read whole.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>

namespace gpuprof::compare {

// The content of a regular file of at most this size. Throws gpuprof::Error.
std::string read_small_file(const std::string& path, std::size_t most);

// Whether it is a regular file that begins like a JSON object.
bool is_json_file(const std::string& path);

// Throws gpuprof::Error, which names the file, if the text is not JSON or is nested deeply.
nlohmann::json parse_json(const std::string& text, const std::string& path);

}  // namespace gpuprof::compare
