// Names and lines of the native functions in stacks (--native-stacks), from the modules' files.
#pragma once

#include <functional>
#include <string>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::record {

// Fills STACK_FRAME.function from symbol tables, and NATIVE_LINE by addr2line or a program like it,
// which is run for modules with debug information. Opens the files that the target named: for the
// run that was just recorded, never for a file of others. Call outside a transaction. Returns a
// message if lines could have been found and were not.
std::string name_native_frames(store::Database& database, const std::function<bool()>& stop);

}  // namespace gpuprof::record
