#include "libprof/base/file_name.hpp"

#include <unistd.h>

#include <cstdlib>

#include "libprof/base/error.hpp"

namespace gpuprof {

bool names_process(std::string_view pattern) {
  for (std::size_t at = 0; at + 1 < pattern.size(); ++at) {
    if (pattern[at] != '%') continue;
    if (pattern[at + 1] == 'p') return true;
    ++at;
  }
  return false;
}

std::string expand_name(std::string_view pattern, long process_id) {
  std::string name;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    if (pattern[at] != '%') {
      name += pattern[at];
      continue;
    }
    const char what = at + 1 < pattern.size() ? pattern[++at] : '\0';
    switch (what) {
      case '%': name += '%'; break;
      case 'p': name += std::to_string(process_id); break;
      case 'h': {
        char host[256] = {};
        gethostname(host, sizeof host - 1);
        name += host;
        break;
      }
      case 'q': {
        const std::size_t close = pattern.find('}', at);
        if (at + 1 >= pattern.size() || pattern[at + 1] != '{' || close == pattern.npos) {
          throw Error("invalid syntax for %q", "a variable in braces: %q{NAME}",
                      ExitCode::bad_option);
        }
        const std::string variable(pattern.substr(at + 2, close - at - 2));
        const char* value = std::getenv(variable.c_str());
        if (!value) {
          throw Error("cannot find environment variable \"" + variable + "\"",
                      "set it, or remove %q{" + variable + "} from the name", ExitCode::internal);
        }
        name += value;
        at = close;
        break;
      }
      default:
        throw Error("\"" + std::string(pattern) + "\" has an unknown placeholder",
                    "%p (process id), %h (host), %q{NAME} (variable) and %% (a percent sign)",
                    ExitCode::bad_option);
    }
  }
  return name;
}

}  // namespace gpuprof
