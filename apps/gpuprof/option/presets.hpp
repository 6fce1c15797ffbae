// The user's defaults: options from a configuration file and the environment. The command line
// takes precedence over the environment, which takes precedence over the file.
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

// Whether an option may be preset. Options that specify what one call does (which file, report or
// metrics) may not.
bool can_be_preset(const Option& option);

// "GPUPROF_FLUSH_PERIOD" from "flush-period".
std::string variable_of(const Option& option);

// Presets from the environment and from the file that `choice` names, at most one per option.
// Throws gpuprof::Error if the file cannot be read or is invalid.
std::vector<Preset> read_presets(const ConfigChoice& choice);

// Prints one line to stderr with suggestions if variables resemble those of an option, unless the
// environment is ignored. Other GPUPROF_ variables may belong to other programs.
void tell_misspelt_variables(const Options& options);

// Parses `key = value` lines of TOML, without sections. `name` is for errors.
std::vector<Preset> parse_config(std::string_view text, const std::string& name);

// Throws gpuprof::Error, naming the origin, if the option rejects the value.
void apply(const Preset& preset, Options& options);

}  // namespace gpuprof::app
