// Defaults of the user's own: options out of a configuration file and the environment. The command
// line goes before the environment, that before the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/gpuprof/option/option_table.hpp"

namespace gpuprof::app {

struct Preset {
  const Option* option = nullptr;
  std::string value;
  std::string origin;  // for errors: "FILE:3: trace", "GPUPROF_TRACE"
};

// Whether an option can be given so. One that says what a single call is to do cannot: which file,
// which report, which metrics.
bool can_be_preset(const Option& option);

// "GPUPROF_FLUSH_PERIOD" of "flush-period".
std::string variable_of(const Option& option);

// What is in the environment and in the file that `choice` names, one for each option. Throws
// gpuprof::Error for a file that cannot be read and for what it has wrong.
std::vector<Preset> read_presets(const ConfigChoice& choice);

// One line on stderr if variables are nearly those of an option, with what may have been meant, and
// the environment is asked at all. Others that begin with GPUPROF_ may be somebody else's.
void tell_misspelt_variables(const Options& options);

// The lines `key = value` of TOML, without sections. `name` is for errors.
std::vector<Preset> parse_config(std::string_view text, const std::string& name);

// Throws gpuprof::Error, which names the origin, for a value that the option does not take.
void apply(const Preset& preset, Options& options);

}  // namespace gpuprof::app
